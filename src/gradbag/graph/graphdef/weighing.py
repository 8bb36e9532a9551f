"""What a GraphDef takes in memory and time, before anything is made of it.

Two bytes can be a whole node, and a node takes two thousand until it stands in a graph. So a file is walked first, and
each of its fields counts what it was measured to take on the way from the file to the graph.
"""

from __future__ import annotations

import functools

from ... import eager, errors, memory
from . import messages

NODE_LIMIT = 2_000_000  # some ten seconds
NODE_BYTES, INPUT_BYTES, ATTR_BYTES = 2048, 160, 160
# Of the messages that a file can have many of; what is not here is smaller.
_MESSAGE_BYTES = {
    "NodeDef": NODE_BYTES,
    "FunctionDef": 1024,
    "OpDef": 1024,
    "TensorProto": 512,
    "AttrEntry": ATTR_BYTES,
}
_OTHER_MESSAGE_BYTES, _TEXT_BYTES = 112, INPUT_BYTES
# For each byte: a text is held as bytes and as str, a number in the message, as an int and in its array.
_BYTES_OF_TEXT, _BYTES_OF_NUMBER = 4, {"float": 6, "double": 5}
_BYTES_OF_VARINT = 40
_DEEPEST = 100  # what lies deeper protobuf refuses

Row = tuple[
    int, int, int, int, int
]  # message, field, message inside or -1, bytes for each, bytes for each of its bytes


@functools.cache
def rows() -> list[Row]:
    """What the fields of every message weigh; GraphDef is message 0."""
    numbers = {name: number for number, name in enumerate(messages.FIELDS)}
    found = []
    for message, fields in messages.FIELDS.items():
        for field in fields:
            if field.kind in numbers:
                row = numbers[field.kind], _MESSAGE_BYTES.get(field.kind, _OTHER_MESSAGE_BYTES), 0
            elif field.kind in ("string", "bytes"):
                row = -1, _TEXT_BYTES, _BYTES_OF_TEXT
            else:
                row = -1, 0, _BYTES_OF_NUMBER.get(field.kind, _BYTES_OF_VARINT)
            found.append((numbers[message], field.number, *row))
    return found


def weigh(data: bytes, where: str) -> None:
    """Refuse a file that would not fit the memory, or takes too long; what is no GraphDef is for the parser to say."""
    limit = memory.get_memory_limit()
    weight, nodes = weight_of(data, limit)
    if nodes > NODE_LIMIT:
        raise errors.ResourceExhaustedError(f"{where} has more than {NODE_LIMIT:,} nodes, the most that are read")
    if weight > limit:
        raise errors.ResourceExhaustedError(f"{where} holds more messages than fit the {allowed(limit)}")


def allowed(limit: int) -> str:
    return f"{errors.in_bytes(limit)} that may be used (gradbag.set_memory_limit)"


def weight_of(data: bytes, limit: int) -> tuple[int, int]:
    """Bytes and nodes; the count ends as soon as one of them is too much."""
    walk = walked if eager.native is None else eager.native.weigh_message
    return walk(data, rows(), list(messages.FIELDS).index("NodeDef"), limit, NODE_LIMIT)


def walked(data: bytes, table: list[Row], counted: int, most: int, most_counted: int) -> tuple[int, int]:
    """The walk of `csrc/bind/weighing.cpp`, where that is not compiled."""
    weights = {(message, field): row for message, field, *row in table}
    weight, count = len(data), 0
    levels = [(0, 0, len(data))]
    while levels and weight <= most and count <= most_counted:
        message, at, end = levels.pop()
        if at >= end:
            continue
        tag, at = _varint(data, at, end)
        inside, each, of_byte = weights.get((message, tag >> 3), (-1, 0, 0))
        kind = tag & 7
        if kind == 2:
            size, at = _varint(data, at, end)
            if size > end - at:
                continue
            levels.append((message, at + size, end))
            weight += each + size * of_byte
            if inside >= 0 and len(levels) < _DEEPEST:
                count += inside == counted
                levels.append((inside, at, at + size))
            continue
        if kind == 0:
            _, at = _varint(data, at, end)
        elif kind in (1, 5):
            at += 8 if kind == 1 else 4
        else:
            continue
        weight += of_byte
        levels.append((message, at, end))
    return weight, count


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
