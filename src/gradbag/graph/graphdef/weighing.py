"""What a binary GraphDef will take in memory, before anything is made of it.

Two bytes can be a whole node, and a node takes eighty: of a large file whose messages are all empty there would be more
in memory than any machine has. So the messages of a large file are counted first.
"""

from __future__ import annotations

from collections.abc import Iterator

from ... import errors, memory

_NODE, _ATTR = 1, 5  # the fields of GraphDef and of NodeDef that can be many
_BYTES = 160  # of an empty message, generously


def weigh(data: bytes, where: str) -> None:
    """Refuse a file whose messages would not fit the memory; what is no GraphDef at all is for the parser to say."""
    limit = memory.get_memory_limit()
    most = (limit - len(data)) // _BYTES
    if len(data) // 2 <= most:  # even if there were nothing but empty messages
        return
    for number, begin, end in _fields(data, 0, len(data)):
        most -= 1
        if number == _NODE:
            for field, _, _ in _fields(data, begin, end):
                most -= field == _ATTR
                if most < 0:
                    break
        if most < 0:
            allowed = f"{errors.in_bytes(limit)} that may be used (gradbag.set_memory_limit)"
            raise errors.ResourceExhaustedError(f"{where} holds more messages than fit the {allowed}")


def _fields(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The fields of a message that have a length: number, begin and end; nothing after what makes no sense."""
    while at < end:
        tag, at = _varint(data, at, end)
        kind = tag & 7
        if kind == 2:
            size, at = _varint(data, at, end)
            if size > end - at:
                return
            yield tag >> 3, at, at + size
            at += size
        elif kind == 0:
            _, at = _varint(data, at, end)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            return


def _varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    value = shift = 0
    while at < end:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            break
    return 0, end
