"""The secrets: the token in the opened address, the cookie it is exchanged for, the key of the events."""

from __future__ import annotations

import hmac
import os
import secrets
from contextlib import suppress
from http.cookies import CookieError, SimpleCookie
from pathlib import Path


class Session:
    """Token and key die with the process. The cookie is made from the user's key, the folder and the port.

    So a tab that is open when a studio ends is let in by the next one that shows the same folder at the same address.
    """

    def __init__(self, port: int, folder: Path, state: Path) -> None:
        self.token = secrets.token_urlsafe(32)
        self.key = secrets.token_urlsafe(32)
        about = f"cookie of {os.path.realpath(folder)} at {port}"
        self._cookie = hmac.digest(user_key(state), about.encode("utf-8", "surrogateescape"), "sha256").hex()
        # Cookies do not know ports: a name without it would be shared with every other server on this machine.
        self.cookie_name = f"gradbag-{port}"

    def opens(self, token: str) -> bool:
        return _same(token, self.token)

    def has_key(self, key: str) -> bool:
        return _same(key, self.key)

    def knows(self, cookie_header: str) -> bool:
        try:
            found = SimpleCookie(cookie_header).get(self.cookie_name)
        except CookieError:
            return False
        return found is not None and _same(found.value, self._cookie)

    def cookie(self) -> str:
        """The header that sets it: for this visit, out of the reach of scripts and of other sites."""
        return f"{self.cookie_name}={self._cookie}; Path=/; HttpOnly; SameSite=Strict"


def _same(one: str, other: str) -> bool:
    """In a time that does not tell how far the two agree."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def user_key(state: Path) -> bytes:
    """The key, from a file that nobody else reads; where there can be no such file, one for this start."""
    place = state / "key"
    fresh = secrets.token_bytes(32)
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError), open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(fresh)
        found = place.read_bytes()
    except OSError:
        return fresh
    return found if len(found) == 32 else fresh
