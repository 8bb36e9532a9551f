"""The runs: one at a time, a few that wait, and what becomes of them when the process that runs them dies."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .answers import Refused
from .events import Events
from .limits import Limits
from .messages import EndState, Failure, Finished, RunState
from .processes import Computing, Died

log = logging.getLogger("gradbag.studio")


@dataclass(eq=False)
class Job:
    """A run, or one step of a run."""

    kind: str
    fields: dict[str, Any]
    id: str
    answer: asyncio.Future[Any]
    running: dict[str, None] = field(default_factory=dict)  # nodes, the latest last
    place: str = ""  # the node that was last heard of in a loop, whose rounds are not told one by one
    stopped: bool = False
    finished: bool = False
    started: float = 0.0


class Runs:
    """Hears what the process says, and says it to everybody."""

    def __init__(self, computing: Computing, events: Events, limits: Limits) -> None:
        self._computing, self._events, self._limits = computing, events, limits
        self._waiting: deque[Job] = deque()
        self._current: Job | None = None
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._stopping: set[asyncio.Task[None]] = set()

    def start(self) -> None:
        self._task = asyncio.create_task(self._work())

    async def end(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def submit(self, kind: str, fields: dict[str, Any], id: str | None = None) -> Job:
        if len(self._waiting) >= self._limits.queued_runs:
            most = self._limits.queued_runs
            raise Refused(409, "busy", f"{most} runs are waiting already: stop one, or wait for it.")
        job = Job(kind, fields, id or secrets.token_hex(8), asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        return job

    def begin(self, job: Job) -> None:
        """Apart from `submit`, so that whoever asked knows the run's name before events speak of it."""
        if not job.finished:
            if job.kind == "run":
                self._events.tell_of_run(RunState(type="queued", id=job.id))
            self._more.set()

    # ------------------------------------------------------------------ working
    async def _work(self) -> None:
        while True:
            while not self._waiting:
                self._more.clear()
                await self._more.wait()
            job = self._waiting.popleft()
            self._current = job
            await self._perform(job)
            self._current = None

    async def _perform(self, job: Job) -> None:
        job.started = time.perf_counter()
        if job.kind == "run":
            self._events.tell_of_run(RunState(type="started", id=job.id))
        try:
            answer = await self._computing.ask(job.kind, run=job.id, **job.fields)
            _settle(job, answer)
        except Died as problem:
            if not job.stopped:
                self._fail(job, next(reversed(job.running), job.place), _reason(problem.code, self._limits), "died")
            self._finish(job, "stopped" if job.stopped else "failed")
            _settle(job, Refused(503, "died", "The process that computes has ended; it is started again."))
        except Refused as problem:
            self._fail(job, problem.more.get("node", ""), problem.text, problem.kind, problem.more.get("port", ""))
            self._finish(job, "failed")
            _settle(job, problem)
        except Exception as problem:  # the next run must find somebody who takes it
            log.error("run failed: %s", type(problem).__name__, exc_info=problem)
            text = "Something went wrong inside the studio."
            self._fail(job, "", text, "internal")
            self._finish(job, "failed")
            _settle(job, Refused(500, "internal", text))

    def _fail(self, job: Job, node: str, text: str, kind: str, port: str = "") -> None:
        self._events.tell_of_run(Failure(type="error", id=job.id, node=node, port=port, text=text, kind=kind))

    def _finish(self, job: Job, state: EndState) -> None:
        if job.finished:
            return
        job.finished = True
        seconds = time.perf_counter() - job.started if job.started else 0.0
        self._events.tell_of_run(
            Finished(
                type="finished",
                id=job.id,
                state=state,
                seconds=seconds,
                ran=0,
                cached=0,
                mismatches=[],
                judged=[],
                stale=[],
                rounds=0,
            )
        )

    def heard(self, message: dict[str, Any]) -> None:
        """An event of the process that runs."""
        job = self._current
        if job is not None and job.id == message["run"]:
            if message["type"] == "place":
                job.place = message["node"]
            elif message["type"] == "node":
                if message["state"] == "running":
                    job.running[message["node"]] = None
                else:
                    job.running.pop(message["node"], None)
            job.finished = job.finished or message["type"] == "finished"
        if "event" in message:
            self._events.tell_of_run(message["event"])

    # ------------------------------------------------------------------ stopping
    async def stop(self, id: str) -> None:
        """First it is asked to; a run that goes on all the same is ended together with its process."""
        for job in list(self._waiting):
            if job.id == id:
                self._waiting.remove(job)
                self._finish(job, "stopped")
                _settle(job, Refused(409, "stopped", "The run was stopped before it began."))
                return
        current = self._current
        if current is not None and current.id == id:
            try:
                await self._computing.tell("stop", run=id)
            except Died:
                return
            task = asyncio.create_task(self._end_late(current))
            self._stopping.add(task)
            task.add_done_callback(self._stopping.discard)

    async def _end_late(self, job: Job) -> None:
        await asyncio.sleep(self._limits.stop_seconds)
        if self._current is job and not job.answer.done():
            job.stopped = True
            self._computing.kill()


def _settle(job: Job, answer: Any) -> None:
    if job.answer.done():
        return
    if isinstance(answer, Refused) and job.kind == "step":
        job.answer.set_exception(answer)
    else:
        job.answer.set_result(answer)


def _reason(code: int | None, limits: Limits) -> str:
    """Why a process has died, as far as its end tells."""
    if code == -signal.SIGXCPU:
        return f"This took more than {limits.run_seconds} seconds of processor time and was ended."
    if code == -signal.SIGKILL:
        return "The run was ended from outside while this was running: perhaps the machine has too little memory."
    name = ""
    if code is not None and code < 0:
        try:
            name = f" ({signal.Signals(-code).name})"
        except ValueError:
            name = f" (signal {-code})"
    return f"The process that computes ended while this was running{name}; it is started again."
