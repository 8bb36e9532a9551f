"""What the server says, reply by reply and event by event: `make stubs` writes web/src/api/types.ts from these records.

A page inside a reply is JSON as it stands in its file, `Document` in document.ts.
"""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

Document = Annotated[Any, "Document"]
Point = Annotated[list[float], "Point"]


# ------------------------------------------------------------------ catalogue
class PortInfo(TypedDict):
    name: str
    dtype: str
    dims: str
    text: str


class InputInfo(PortInfo):
    many: bool


AttrKind = Literal["bool", "int", "float", "string", "type", "shape", "ints", "tensor"]


class AttrInfo(TypedDict):
    name: str
    kind: AttrKind
    required: bool
    default: Any
    allowed: list[str] | None
    text: str


Example = TypedDict("Example", {"in": dict[str, Any], "attrs": dict[str, Any]}, total=False)


class OpInfo(TypedDict):
    name: str
    title: str
    summary: str
    category: str
    sparse: bool
    differentiable: bool
    types: dict[str, list[str]]
    inputs: list[InputInfo]
    outputs: list[PortInfo]
    attrs: list[AttrInfo]
    example: Example
    words: str


class Catalogue(TypedDict):
    version: str
    dtypes: list[str]
    categories: list[str]
    ops: list[OpInfo]


class HelpText(TypedDict):
    kind: Literal["heading", "text", "formula", "code"]
    text: str


class HelpTable(TypedDict):
    kind: Literal["table"]
    head: list[str]
    rows: list[list[str]]


HelpBlock = HelpText | HelpTable


class Help(TypedDict):
    name: str
    blocks: list[HelpBlock]


# ------------------------------------------------------------------ check, fits, gradients, lens
class Slot(TypedDict):
    dtype: str | None
    shape: list[int | None] | None


class NamedSlot(Slot):
    name: str


class Problem(TypedDict):
    node: str
    port: str
    text: str


class CheckedNode(TypedDict):
    key: str | None
    inputs: dict[str, Slot]
    outputs: list[NamedSlot]


class Check(TypedDict):
    problems: list[Problem]
    nodes: dict[str, CheckedNode]


class FittingOp(TypedDict):
    op: str
    port: str


class Fits(TypedDict):
    ports: dict[str, str]  # "" or the reason why not
    ops: list[FittingOp]


class Layout(TypedDict):
    layout: dict[str, Point]


class Differentiated(TypedDict):
    page: Document
    added: list[str]
    gradients: dict[str, str]


class Choice(TypedDict):
    name: str
    reason: str


class Differentiable(TypedDict):
    inputs: list[Choice]


class Lens(TypedDict):
    marks: dict[str, list[int]]
    feeds: list[str]
    fed: list[str]
    wires: list[str]
    partial: str


class Text(TypedDict):
    text: str


# ------------------------------------------------------------------ values
class Histogram(TypedDict):
    edges: list[float]
    counts: list[int]


class Heat(TypedDict):
    rows: int
    columns: int
    values: list[float | None]


class Summary(TypedDict):
    min: float | str | None
    max: float | str | None
    mean: float | str | None
    zeros: int
    nans: int
    infs: int
    histogram: Histogram | None
    heat: Heat | None


class Described(TypedDict):
    name: str
    dtype: str
    shape: list[int]
    bytes: int
    table: Any
    summary: Summary | None


class Value(Described):
    hash: str


class ValueRows(TypedDict):
    shape: list[int]
    start: int
    table: Any


# ------------------------------------------------------------------ runs
class Mismatch(TypedDict):
    name: str
    expected: str
    got: str
    text: str


class RunStarted(TypedDict):
    id: str


class Stepped(TypedDict):
    id: str
    done: list[str]
    next: str | None


class RunState(TypedDict):
    type: Literal["queued", "started"]
    id: str


class NodeRunning(TypedDict):
    type: Literal["node"]
    id: str
    node: str
    state: Literal["running"]


class NodeDone(TypedDict):
    type: Literal["node"]
    id: str
    node: str
    state: Literal["done", "cached"]
    key: str | None
    seconds: float
    outputs: list[Value]


class Progress(TypedDict):
    type: Literal["progress"]
    id: str
    done: int
    total: int
    step: int
    steps: int


class Failure(TypedDict):
    type: Literal["error"]
    id: str
    node: str
    port: str
    text: str
    kind: str


EndState = Literal["done", "failed", "stopped"]


class Finished(TypedDict):
    type: Literal["finished"]
    id: str
    state: EndState
    seconds: float
    ran: int
    cached: int
    mismatches: list[Mismatch]


class Notice(TypedDict):
    type: Literal["files", "restarted"]


RunEvent = RunState | NodeRunning | NodeDone | Progress | Failure | Finished
StudioEvent = RunEvent | Notice


# ------------------------------------------------------------------ session and files
class Session(TypedDict):
    key: str
    version: str
    folder: str
    readonly: bool


class FileInfo(TypedDict):
    path: str
    title: str
    version: str
    problems: bool


class FileList(TypedDict):
    pages: list[FileInfo]
    examples: list[FileInfo]
    recovered: list[str]


class Recovered(TypedDict):
    page: Document
    saved_at: str


class OpenedFile(TypedDict):
    page: Document
    path: str
    version: str
    trusted: bool
    recovered: Recovered | None


class SavedFile(TypedDict):
    version: str
    page: Document


class ImportedFile(TypedDict):
    page: Document
    title: str
    notes: list[str]


# ------------------------------------------------------------------ errors
class Refusal(TypedDict):
    kind: str
    text: str
    node: NotRequired[str]
    port: NotRequired[str]


class Current(TypedDict):
    page: Document | None
    version: str


class RefusedReply(TypedDict):
    error: Refusal
    current: NotRequired[Current | None]  # what stands in a file that has changed
