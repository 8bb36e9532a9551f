"""How many threads a kernel may use."""

from __future__ import annotations

from types import TracebackType

from . import errors
from .eager.program import native

__all__ = ["get_num_threads", "set_num_threads"]

_LARGEST = (1 << 31) - 1
_remembered = 1  # for kernels that know no threads, and without kernels


class _Restore:
    """Gives the number of threads back that was there before."""

    def __init__(self, before: int) -> None:
        self._before = before

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        _set(self._before)


def set_num_threads(n: int) -> _Restore:
    """Let every kernel use up to `n` threads, from now on; results are the same bits for any number.

    In a `with` statement the former number comes back at its end:

        >>> import gradbag
        >>> with gradbag.set_num_threads(1):
        ...     gradbag.get_num_threads()
        1

    The number is that of the process, not of the Python thread that sets it. Until it is set, it is what the
    environment variable GRADBAG_NUM_THREADS says, or as many as the process has processors.
    """
    errors.check_natural("set_num_threads", "n", n, least=1)
    before = get_num_threads()
    _set(n)
    return _Restore(before)


def get_num_threads() -> int:
    """Up to how many threads a kernel uses."""
    ask = getattr(native, "get_num_threads", None)
    return _remembered if ask is None else int(ask())


def _set(n: int) -> None:
    global _remembered
    tell = getattr(native, "set_num_threads", None)
    if tell is None:
        _remembered = n
    else:
        tell(min(n, _LARGEST))
