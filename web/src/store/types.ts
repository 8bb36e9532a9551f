// What the page's one store holds, and what may be done with it. A document changes through `edit` alone.
import type {
  Catalogue,
  Check,
  Difference,
  Document,
  ExportKind,
  FileList,
  Fits,
  Lens,
  Literal,
  Mismatch,
  OpInfo,
  Point,
  Problem,
  Series,
  Session,
  Side,
  StudioEvent,
  Value,
} from "../api/types";
import type { History } from "../page/history";

export type Change = (document: Document) => Document;

// ------------------------------------------------------------------ results
export type NodeState = "idle" | "queued" | "running" | "done" | "cached" | "stale" | "error";
export type ResultError = {
  port: string;
  text: string;
  kind: string;
  of?: string | null; // the node's key in the check when it failed, where that was known
};
export type Result = {
  key: string | null; // of what was computed; stale once the check gives the node another
  state: "queued" | "running" | "done" | "cached" | "error";
  seconds: number;
  outputs: Value[];
  error: ResultError | null;
  outdated?: boolean; // a variable that it reads has got another value since
};
/** What became of single numbers in the rounds of a loop. */
export type Timeline = {
  rounds: number[];
  series: Series[];
  shown: number | null; // the round that all blocks show; null: the last run
  pinned: { name: string; rounds: number[]; values: (number | null)[] }[]; // curves of former loops
};
export type RunState = {
  id: string | null; // of the run under way, or being stepped
  state: "idle" | "queued" | "running" | "stepping";
  targets: string[] | null;
  done: number;
  total: number;
  step: number;
  steps: number;
  next: string | null; // the node that the next step runs
  outcome: "done" | "failed" | "stopped" | null; // of the last run
  seconds: number;
  ran: number;
  cached: number;
  mismatches: Mismatch[];
  error: string; // of the last run as a whole, in words
};

// ------------------------------------------------------------------ what is being looked at
export type Selection = {
  nodes: string[];
  wires: string[]; // "node.port" of the consuming input
  groups: string[];
  notes: string[];
};
export type LensState = {
  node: string;
  port: string;
  index: number[];
  cell: number[] | null; // the entry of which the sum is told
  lens: Lens | null; // null while the answer is on its way
  error: string;
  difference: Difference | null; // the check of a gradient's cell, where it was asked for
  lit: { source: string; index: number[] } | null; // a term that is pointed at
};
/** Bring these blocks into view, or all if there are none; readable: rather a part than too small;
 * unmoved: only where the view is still that of the opened page. */
export type FocusRequest = { nodes: string[]; count: number; readable: boolean; unmoved: boolean };
export type LeftTab = "blocks" | "files" | "outline";
export type Panel = {
  left: LeftTab;
  leftOpen: boolean;
  right: "inspector" | "help";
  rightOpen: boolean;
  helpOp: string | null;
  problems: boolean; // the list above the status line
};
export type Theme = "system" | "light" | "dark";
export type PortPlace = { node: string; port: string; side: Side };
export type Wiring = PortPlace & { fits: Fits | null; way: "drag" | "click" | "keys" }; // a wire that is being drawn
export type QuickPalette = {
  at: Point; // on the screen
  position: Point; // on the page
  wiring: Wiring | null; // only blocks that fit, and the chosen one is connected
};
export type GridTarget = { node: string; kind: "port" | "attr"; name: string };
export type Toast = { id: number; tone: "info" | "good" | "danger"; text: string };

export type DialogState =
  | { kind: "keys" }
  | { kind: "save-as" }
  | { kind: "rename-file"; path: string }
  | { kind: "delete-file"; path: string }
  | { kind: "conflict"; theirs: Document; version: string }
  | { kind: "recovered"; page: Document; savedAt: string; client: string }
  | { kind: "trust"; onYes: () => void }
  | { kind: "differentiate" }
  | { kind: "rename-node"; node: string }
  | { kind: "leave"; onYes: () => void } // open something else though work is unsaved
  | { kind: "grid"; target: GridTarget }
  | { kind: "connect"; from: PortPlace };

// ------------------------------------------------------------------ the file behind the page
export type SaveState = "clean" | "changed" | "journaled" | "saving" | "failed";
export type FileState = {
  path: string | null; // null: never saved; "example:…": cannot be written
  version: string | null;
  trusted: boolean;
  journal: string; // the name its journal has: the path or "untitled-…"
  seen: string; // the former tab whose unsaved work goes on in this one
  save: SaveState;
  savedDocument: Document | null;
};
export type Connection = "connecting" | "open" | "lost" | "ended"; // ended: another studio answers, which does not know this tab

export type State = {
  client: string; // whom the server tells of the runs asked for here
  session: Session | null;
  catalogue: Catalogue | null;
  ops: ReadonlyMap<string, OpInfo>; // the catalogue by name
  files: FileList | null;
  capture: string | null; // the record that is shown in the page's place
  fatal: string; // why the studio cannot start, in words

  document: Document;
  history: History;
  file: FileState;

  selection: Selection;
  check: Check | null;
  checkedDocument: Document | null; // the document that `check` is of
  opened: readonly string[]; // the gradients that show what they are made of
  problemsOf: ReadonlyMap<string, Problem[]>; // by node
  results: Record<string, Result>;
  judged: Record<string, Mismatch | null>; // what the page expects: null where it holds
  timeline: Timeline | null;
  run: RunState;
  loopSteps: number;
  live: boolean; // every edit runs the page
  runName: string; // which of the page's runs; "": all of them in order
  connection: Connection;

  lens: LensState | null;
  panel: Panel;
  theme: Theme;
  wiring: Wiring | null;
  quick: QuickPalette | null;
  dialog: DialogState | null;
  toasts: Toast[];
  spoken: string; // what the live region says
  focusRequest: FocusRequest | null;
};

export type Actions = {
  // -------------------------------------------------------------- editing
  edit(label: string, change: Change, mergeKey?: string): void;
  undo(): void;
  redo(): void;
  select(selection: Partial<Selection>): void; // what is not named is deselected
  setLiteral(node: string, port: string, literal: Literal | undefined): void; // port may be "values[2]"
  setAttr(node: string, attr: string, value: unknown): void; // undefined: back to the default
  connect(from: string, node: string, port: string): Promise<boolean>; // from: "node" or "node.port"; refused with a reason
  disconnect(node: string, port: string): void;
  addBlock(op: string, position: Point, connectTo?: { wiring: PortPlace; port: string }): string | null;
  removeSelection(): void;
  fragment(): string; // what is selected, as text; "" if that is nothing
  copy(): Promise<void>;
  cut(): Promise<void>;
  paste(text?: string): Promise<void>;
  duplicate(): void;
  groupSelection(): void;
  addNote(position?: Point): void;
  tidy(): Promise<void>;
  differentiate(output: string, inputs: string[], ports: string[]): Promise<boolean>; // by outputs, by values in ports
  restate(): Promise<void>; // gradients that were written out become live ones
  openParts(node: string, open: boolean): void;

  // -------------------------------------------------------------- wires
  join(place: PortPlace, other: Omit<PortPlace, "side">): Promise<boolean>; // the same, whichever is the output
  pickUp(place: PortPlace, way: Wiring["way"]): Promise<void>;
  putDown(): void;
  refusal(place: PortPlace): string; // why the wire in hand does not fit there; "" when it does, or when nothing is known yet

  // -------------------------------------------------------------- running
  runAll(): Promise<void>;
  runNamed(name: string): Promise<void>; // one of the page's runs
  runTo(nodes: string[]): Promise<void>;
  runStep(): Promise<void>;
  runLoop(steps: number): Promise<void>;
  stop(): Promise<void>;
  received(event: StudioEvent): void; // from the socket
  reconnected(): void; // the socket is back: what a run said meanwhile is lost
  setLoopSteps(steps: number): void;
  setRunName(name: string): void;
  setLive(live: boolean): void;

  // -------------------------------------------------------------- time
  loadTimeline(): Promise<void>;
  showRound(round: number | null): Promise<void>; // null: what the last run gave
  pinCurve(name: string): void;
  closeTimeline(): void;

  // -------------------------------------------------------------- the row lens
  look(node: string, port: string, index: number[], cell?: number[]): Promise<void>;
  checkGradient(): Promise<void>; // of the cell in the lens, by finite differences
  pointAt(lit: LensState["lit"]): void;
  closeLens(): void;

  // -------------------------------------------------------------- files
  start(): Promise<void>;
  loadFiles(): Promise<void>;
  newPage(): void;
  openCapture(path: string | null): void; // null: back to the page
  openPath(path: string): Promise<void>;
  openDropped(file: File): Promise<void>;
  insertData(file: File, at: Point, port: string | null): Promise<void>; // into blocks, or into the port "node.port"
  save(): Promise<void>;
  saveAs(path: string): Promise<void>;
  resolveConflict(choice: "mine" | "theirs" | "copy", copyPath?: string): Promise<void>;
  resolveRecovery(choice: "recover" | "discard"): Promise<void>;
  renameFile(path: string, to: string): Promise<void>;
  deleteFile(path: string): Promise<void>;
  discardJournal(name: string): Promise<void>;
  trust(): Promise<void>;
  exportAs(kind: ExportKind | "png"): Promise<void>;

  // -------------------------------------------------------------- what is shown
  setPanel(panel: Partial<Panel>): void;
  setTheme(theme: Theme): void;
  openDialog(dialog: DialogState): void;
  closeDialog(): void;
  openQuick(quick: QuickPalette): void;
  closeQuick(): void;
  showHelp(op: string): void;
  bringIntoView(nodes: string[], readable?: boolean, unmoved?: boolean): void; // see FocusRequest
  goTo(node: string): void; // selects a block and brings it into view
  say(text: string): void; // to the live region
  toast(tone: Toast["tone"], text: string): void;
  dropToast(id: number): void;
};

export type Store = State & Actions;
