"""The secrets of one start: the token in the opened address, the cookie it is exchanged for, the key of the events."""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie


class Session:
    """All of it dies with the process."""

    def __init__(self, port: int) -> None:
        self.token = secrets.token_urlsafe(32)
        self.key = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
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
