"""Files with random damage, by bytes and by fields: a loader opens them or refuses in words."""

from __future__ import annotations

import base64
import io
import json
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import gradbag
from gradbag import page as pages
from gradbag.graph import load_graphdef, to_graphdef_bytes
from gradbag.page import data_files
from gradbag.page.drawing import to_graph

EXAMPLES = Path(pages.__file__).parent.parent / "examples"
KINDS = ("graph", "text", "page", "array")
TO_COVER = len(KINDS) + 2  # each by bytes, and two by fields


@cache
def originals(kind: str) -> list[bytes]:
    shipped = sorted(EXAMPLES.glob("*.page.json"))
    if kind == "page":
        return [path.read_bytes() for path in shipped]
    if kind in ("graph", "text"):
        graphs = [to_graph(pages.load(path)) for path in shipped]
        return [to_graphdef_bytes(graph, text=kind == "text") for graph in graphs]
    files = []
    for dtype in ("f4", "i8", "?", "c16", "S3"):
        buffer = io.BytesIO()
        np.save(buffer, np.ones((2, 3)).astype(dtype))
        files.append(buffer.getvalue())
    return files


def draw(random: np.random.Generator) -> dict[str, Any]:
    kind = str(random.choice(KINDS))
    files = originals(kind)
    data = files[random.integers(len(files))]
    way = "fields" if kind in ("page", "graph") and random.integers(2) else "bytes"
    damaged = by_fields(kind, data, random) if way == "fields" else by_bytes(data, random, files)
    return {"kind": kind, "way": way, "data": base64.b64encode(damaged).decode()}


def by_bytes(data: bytes, random: np.random.Generator, files: list[bytes]) -> bytes:
    made = bytearray(data)
    for _ in range(random.integers(1, 8)):
        at = int(random.integers(len(made) + 1))
        match int(random.integers(5)):
            case 0 if made:
                made[at % len(made)] = int(random.integers(256))
            case 1:
                made[at:at] = random.integers(0, 256, random.integers(1, 9), dtype=np.uint8).tobytes()
            case 2:
                del made[at : at + int(random.integers(1, 40))]
            case 3:
                other = files[random.integers(len(files))]
                begin = int(random.integers(len(other)))
                made[at:at] = other[begin : begin + int(random.integers(1, 80))]
            case 4 if made:
                made[at % len(made)] ^= 1 << int(random.integers(8))
    return bytes(made)


STRANGE: list[Any] = [
    *(None, True, -1, 0, 2**53, 1e308, "", "a", "nan", "../x", "\0", [], [[]], {}, {"from": "a"}),
    *(
        {"names": ["a"]},
        {"value": [1], "dtype": 3},
        [1, [2]],
        "9" * 30,
        {"file": "x.npy"},
        {"base64": "?"},
        "float32",
        "string",
    ),
]


def by_fields(kind: str, data: bytes, random: np.random.Generator) -> bytes:
    if kind == "page":
        made = json.loads(data)
        for _ in range(random.integers(1, 4)):
            change_json(made, random)
        return json.dumps(made).encode()
    from gradbag.graph.graphdef.messages import message

    proto = message("GraphDef")()
    proto.ParseFromString(data)
    for _ in range(random.integers(1, 4)):
        change_message(proto, random)
    changed: bytes = proto.SerializeToString()
    return changed


def change_json(made: Any, random: np.random.Generator) -> None:
    while isinstance(made, dict | list) and made:
        keys = list(made) if isinstance(made, dict) else list(range(len(made)))
        key = keys[random.integers(len(keys))]
        if not isinstance(made[key], dict | list) or not made[key] or not random.integers(4):
            made[key] = deepcopy(STRANGE[random.integers(len(STRANGE))])
            return
        made = made[key]


def change_message(proto: Any, random: np.random.Generator) -> None:
    while True:
        fields = proto.ListFields()
        if not fields:
            return
        field, value = fields[random.integers(len(fields))]
        if isinstance(value, bool | int | float | str | bytes):
            strange: Any = {str: "^x:9", bytes: b"\xff" * 9}.get(type(value), int(random.integers(0, 40)))
            setattr(proto, field.name, strange)
            return
        if not hasattr(value, "ListFields"):
            if not random.integers(4) or not hasattr(value[0], "ListFields"):
                if random.integers(2) and not hasattr(value[0], "ListFields"):
                    value.append(value[random.integers(len(value))])
                else:
                    value.pop()
                return
            value = value[random.integers(len(value))]
        proto = value


def judge(case: dict[str, Any]) -> str | None:
    data = base64.b64decode(case["data"])
    try:
        if case["kind"] == "page":
            pages.check(pages.parse(data))
        elif case["kind"] == "array":
            data_files.parse(data, "x.npy")
        else:
            load_graphdef(data)
    except gradbag.Error as refusal:
        return None if 0 < len(str(refusal)) < 5000 else f"a poor message: {str(refusal)[:200]}"
    except Exception as problem:  # noqa: BLE001  # exactly what must not happen
        return f"{type(problem).__name__}: {str(problem)[:200]}"
    return None


def covered(case: dict[str, Any]) -> str:
    return f"{case['kind']} by {case['way']}"


def simpler(case: dict[str, Any]) -> list[dict[str, Any]]:
    """The same file with a part cut out."""
    data = base64.b64decode(case["data"])
    found = []
    for share in (2, 4, 8, 16):
        size = max(len(data) // share, 1)
        found += [data[:at] + data[at + size :] for at in range(0, len(data), size)]
    return [{**case, "data": base64.b64encode(one).decode()} for one in found[:40] if one != data]
