"""Graph files that are small and want much: a script that loads one and tells what became of it, and what it took."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

from gradbag import errors
from gradbag.graph import load_graphdef
from gradbag.graph.graphdef.messages import message
from gradbag.graph.graphdef.weighing import weight_of


def field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + varint(len(content)) + content


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def node(op: str, *parts: bytes) -> bytes:
    return field(1, field(1, b"a") + field(2, op.encode()) + b"".join(parts))


def attr(key: str, value: bytes) -> bytes:
    return field(5, field(1, key.encode()) + field(2, value))


# Each repeats what takes few bytes in a file, as often as is asked for.
KINDS: dict[str, Any] = {
    "nodes": lambda n: b"\x0a\x00" * n,
    "named nodes": lambda n: b"".join(field(1, field(1, b"n%d" % k) + field(2, b"NoOp")) for k in range(n)),
    "inputs": lambda n: node("NoOp", b"\x1a\x02^a" * n),
    "attributes": lambda n: node("NoOp", b"\x2a\x00" * n),
    "functions": lambda n: node("NoOp") + field(2, b"\x0a\x00" * n),
    "nodes of a function": lambda n: node("NoOp") + field(2, field(1, b"\x1a\x00" * n)),
    "axes": lambda n: node("Placeholder", attr("dtype", b"\x30\x01"), attr("shape", field(7, b"\x12\x00" * n))),
    "numbers": lambda n: node(
        "Const",
        attr("dtype", b"\x30\x09"),
        attr("value", field(8, b"\x08\x09" + field(2, field(2, b"\x08" + varint(n))) + field(10, b"\x01" * n))),
    ),
    "strings": lambda n: node(
        "Const",
        attr("dtype", b"\x30\x07"),
        attr("value", field(8, b"\x08\x07" + field(2, field(2, b"\x08" + varint(n))) + b"\x42\x00" * n)),
    ),
}


def laughs(calls: int, deep: int) -> bytes:
    """Functions that call each other so often that few bytes mean very many nodes."""
    graph = message("GraphDef")()
    for number in range(deep):
        function = graph.library.function.add()
        function.signature.name = f"f{number}"
        for k in range(calls):
            function.node_def.add(name=f"n{k}", op=f"f{number - 1}" if number else "NoOp")
    graph.node.add(name="call", op=f"f{deep - 1}")
    data: bytes = graph.SerializeToString()
    return data


def main() -> None:
    from confine import forget_peak_memory, peak_memory  # a script finds its neighbours, a test does not

    kind, count, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    data = laughs(count, int(sys.argv[4])) if kind == "laughs" else KINDS[kind](count)
    if limit:
        with open("/proc/self/statm", encoding="ascii") as numbers:
            used = int(numbers.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + limit, used + limit))
    weight, _ = weight_of(data, 1 << 62)
    forget_peak_memory()
    before, began = peak_memory(), time.process_time()
    try:
        load_graphdef(data)
        told = "ok"
    except (errors.Error, MemoryError) as problem:
        told = f"{type(problem).__name__}: {problem}"
    seconds = time.process_time() - began
    took = (peak_memory() - before) << 10
    print(json.dumps({"told": told[:300], "seconds": seconds, "took": took, "weight": weight, "bytes": len(data)}))


if __name__ == "__main__":
    main()
