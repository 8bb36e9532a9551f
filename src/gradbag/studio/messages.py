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


class OutputInfo(PortInfo):
    many: bool
    count: str  # the setting that tells how long a list is; "" where the lists of inputs do


AttrKind = Literal["bool", "int", "float", "string", "type", "shape", "ints", "floats", "strings", "tensor"]


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
    gradient: bool  # no op: the gradient of an output, which is written out when the page is drawn
    fed: bool  # its value comes from a run
    differentiable: bool
    types: dict[str, list[str]]
    inputs: list[InputInfo]
    outputs: list[OutputInfo]
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
    parts: int  # how many nodes a gradient was written out as; zero for everything else


class Part(TypedDict):
    """One node of what a gradient was written out as."""

    name: str
    op: str
    key: str | None
    inputs: dict[str, str]  # by port: "node.port", the output that it reads
    outputs: list[NamedSlot]
    at: Point  # column, counted from the left, and row


class Check(TypedDict):
    problems: list[Problem]
    nodes: dict[str, CheckedNode]
    parts: dict[str, list[Part]]  # of the gradients that are open
    frozen: list[str]  # the nodes with gradients that were written out once and do not follow the page


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
    name: str  # "node.port"
    side: Literal["input", "output"]  # of the node: a value in a port, or an output
    reason: str


class Differentiable(TypedDict):
    inputs: list[Choice]


class Term(TypedDict):
    source: str  # "node.port"
    index: list[int]
    coefficient: float | None
    value: float | None
    product: float | None


class Sum(TypedDict):
    """A number, and what it is the sum of; of an op that is no sum the terms are slopes."""

    value: float | None
    op: str
    is_sum: bool
    terms: list[Term]
    count: int


class Lens(TypedDict):
    marks: dict[str, list[int]]
    feeds: list[str]
    fed: list[str]
    wires: list[str]
    partial: str
    sum: Sum | None  # of the cell that was asked about


class Difference(TypedDict):
    gradient: float | None
    difference: float | None
    step: float
    holds: bool


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
    judged: list[str]  # the expectations that this run was compared with
    stale: list[str]  # the nodes whose values are older than a variable that they read
    rounds: int  # how many rounds of a loop are kept


class Series(TypedDict):
    name: str  # "node.port"
    values: list[float | None]  # for each round; None is no number


class Rounds(TypedDict):
    rounds: list[int]  # those that are kept
    series: list[Series]  # of all outputs that are one number


class NodeValues(TypedDict):
    node: str
    outputs: list[Value]


class Round(TypedDict):
    round: int
    nodes: list[NodeValues]


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


class Unsaved(TypedDict):
    path: str
    title: str
    saved_at: str
    blocks: list[str]  # a few of their names


class FileList(TypedDict):
    pages: list[FileInfo]
    captures: list[str]  # paths of records that `gradbag.capture` made
    examples: list[FileInfo]
    recovered: list[Unsaved]


class Recovered(TypedDict):
    page: Document
    saved_at: str
    client: str  # the tab that wrote it


class Journaled(TypedDict):
    beside: bool  # another tab writes this page, too: what it wrote is kept on its own


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


# ------------------------------------------------------------------ records of gradbag.capture
class CapturedStep(TypedDict):
    """One table in one step."""

    step: int
    entries: int
    bags: int
    empty: int
    repeated: int
    unique: int
    bad_bags: int
    gradient_rows: int
    norm: float
    median: float
    largest: float
    bad_rows: int


class CapturedBag(TypedDict):
    call: int
    number: int
    ids: list[int]


class CapturedRow(TypedDict):
    row: int
    norm: float | None  # None: not finite
    share: float | None  # of the median of all rows' norms
    values: list[float | None]
    times: int
    bags: list[CapturedBag]


class CapturedTable(TypedDict):
    name: str
    rows: int
    columns: int
    dtype: str
    touched: int
    strip: list[float]  # from the first row to the last: how many of each part were looked up, from 0 to 1
    never: list[list[int]]  # first row, and row behind the last
    steps: list[CapturedStep]


class Captured(TypedDict):
    count: int
    step: int  # whose rows these are
    tables: list[CapturedTable]
    rows: dict[str, list[CapturedRow]]


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
