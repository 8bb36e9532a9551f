"""scikit-build-core, which builds the package, and one thing more: no sdist without the page of the studio."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scikit_build_core import build as _backend
from scikit_build_core.build import *  # noqa: F403  # the hooks that pip calls

PAGE = Path("src/gradbag/studio/static/index.html")


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """An sdist whose studio shows an empty page would go unnoticed until somebody opens it."""
    if not PAGE.exists():
        raise SystemExit(f"{PAGE} is missing: `make sdist` builds it first, `make web` builds it alone")
    return _backend.build_sdist(sdist_directory, config_settings)
