"""Killed at any moment, the studio loses at most the last second of work, and never a file."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from typing import Any

import httpx
import pytest

from gradbag import page as pages

from .conftest import Start
from .served import MEAN_GRAD, Served

KILLS_IN_A_ROUND = 9  # of workers, before the server itself is killed


def titled(number: int) -> dict[str, Any]:
    return {**MEAN_GRAD, "title": f"{number}"}


class Editor(threading.Thread):
    """A tab in which somebody works: every edit goes to the journal, and every fifth is saved."""

    def __init__(self, served: Served, number: int) -> None:
        super().__init__(daemon=True)
        self.served, self.number = served, number
        self.journaled: list[int] = []
        self.saved: list[int] = []
        self.version = served.get("/api/file/a.page.json").json().get("version")
        self.ended = threading.Event()

    def run(self) -> None:
        client = httpx.Client(
            base_url=self.served.base,
            headers={**self.served.headers, "Cookie": self.served.cookie},
            timeout=10,
            verify=False,
        )
        with contextlib.suppress(httpx.HTTPError, ConnectionError), client:
            while not self.ended.is_set():
                self.number += 1
                answer = client.post("/api/journal/a.page.json", json={"page": titled(self.number), "sequence": 1})
                if answer.status_code == 200:
                    self.journaled.append(self.number)
                if self.number % 5 == 0:
                    body = {"page": titled(self.number), "version": self.version}
                    answer = client.put("/api/file/a.page.json", json=body)
                    if answer.status_code == 200:
                        self.version = answer.json()["version"]
                        self.saved.append(self.number)
                        # What a tab does after a save: its journal is empty, its next edit is the first again.


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [2, pytest.param(10, marks=pytest.mark.kills)])
def test_nothing_is_lost_when_it_is_killed_at_random(start: Start, rounds: int) -> None:
    chance = random.Random(1)
    number = kills = 0
    served = start()
    served.put("a.page.json", titled(0))
    for _ in range(rounds):
        editor = Editor(served, number)
        editor.start()
        for _ in range(KILLS_IN_A_ROUND):
            time.sleep(chance.uniform(0.0, 0.15))
            while not (victims := list(served.workers().values())):
                time.sleep(0.01)
            with contextlib.suppress(ProcessLookupError):
                os.kill(chance.choice(victims), signal.SIGKILL)
            kills += 1
        time.sleep(chance.uniform(0.0, 0.2))
        served.process.kill()
        kills += 1
        editor.ended.set()
        editor.join(30)
        served.end()
        # The file is whole, and what was acknowledged is there: saved, or offered.
        page = pages.load(served.folder / "a.page.json")
        assert pages.check(page) == []
        assert not [
            place for place in served.folder.iterdir() if place.name.endswith(".page.json") and not place.stat().st_size
        ]
        served = start()
        found = served.get("/api/file/a.page.json").json()
        shown = found["recovered"]["page"] if found["recovered"] else found["page"]
        acknowledged = max([0, *editor.journaled, *editor.saved])
        assert int(shown["title"]) >= acknowledged
        number = max(editor.number, int(shown["title"])) + 1
    assert kills == 10 * rounds
