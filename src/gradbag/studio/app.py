"""The application: all routes, behind the gate."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from . import routes_files, routes_pages, routes_runs, routes_session
from .answers import Refused
from .gate import Gate
from .limits import Limits
from .processes import Died
from .sessions import Session
from .studio import Studio

ROUTES: list[BaseRoute] = [
    *routes_session.ROUTES,
    *routes_pages.ROUTES,
    *routes_files.ROUTES,
    *routes_runs.ROUTES,
]


def make_app(folder: Path, port: int, session: Session, limits: Limits, state: Path) -> Gate:
    """A studio for one folder. `state` is where the user's own secrets lie."""

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        app.state.studio = studio = Studio(folder, session, limits, state)
        studio.start()
        try:
            yield
        finally:
            await studio.end()

    handlers: Any = {Refused: _refused, HTTPException: _refused_by_router, Died: _died}
    app = Starlette(routes=ROUTES, lifespan=life, exception_handlers=handlers)
    app.router.redirect_slashes = False
    return Gate(app, session, port, limits)


async def _refused(request: Request, problem: Refused) -> Response:
    return problem.response()


async def _refused_by_router(request: Request, problem: HTTPException) -> Response:
    if problem.status_code == 404:
        return Refused(404, "missing", "There is nothing here.").response()
    return Refused(problem.status_code, "method", "This cannot be done here.").response()


async def _died(request: Request, problem: Died) -> Response:
    text = "The process that computes has ended and is started again: try it once more."
    return Refused(503, "died", text).response()
