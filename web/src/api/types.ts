// The studio's data, as the server and the page exchange it. A page file's JSON is `Document`.

export type Link = { from: string }; // "node" or "node.port"
export type Literal = unknown; // bare JSON, or {value, dtype?, shape?}, {file, sha256, dtype?}, {base64}
export type Argument = Link | Literal | (Link | Literal)[];
export type Entry = {
  op: string;
  in?: Record<string, Argument>;
  attrs?: Record<string, unknown>;
  after?: string[];
  [unknown: string]: unknown;
};
export type Run = {
  fetch?: string[];
  only?: string[];
  feed?: Record<string, Literal>;
  mode?: "once" | "step" | "loop";
  steps?: number;
  seed?: number;
};
export type Point = [number, number];
export type Group = { title: string; nodes: string[]; color?: number }; // color 0..5, a hue of the theme
export type Note = { text: string; at: Point; size: Point; color?: number };
export type Document = {
  format: string;
  title?: string;
  nodes: Record<string, Entry>;
  runs?: Record<string, Run>;
  expect?: Record<string, Literal>;
  layout?: Record<string, Point>;
  groups?: Record<string, Group>;
  notes?: Record<string, Note>;
  [unknown: string]: unknown;
};

// ------------------------------------------------------------------ catalogue
export type InputInfo = { name: string; dtype: string; many: boolean; dims: string; text: string };
export type OutputInfo = { name: string; dtype: string; dims: string; text: string };
export type AttrKind = "bool" | "int" | "float" | "string" | "type" | "shape" | "ints" | "tensor";
export type AttrInfo = {
  name: string;
  kind: AttrKind;
  required: boolean;
  default: unknown;
  allowed: string[] | null;
  text: string;
};
export type OpInfo = {
  name: string;
  title: string;
  summary: string;
  category: string;
  sparse: boolean;
  differentiable: boolean;
  types: Record<string, string[]>;
  inputs: InputInfo[];
  outputs: OutputInfo[];
  attrs: AttrInfo[];
  example: { in?: Record<string, Literal>; attrs?: Record<string, unknown> };
  words: string;
};
export type Catalogue = { version: string; dtypes: string[]; categories: string[]; ops: OpInfo[] };

export type HelpBlock =
  | { kind: "heading" | "text" | "formula" | "code"; text: string }
  | { kind: "table"; head: string[]; rows: string[][] };
export type Help = { name: string; blocks: HelpBlock[] };

// ------------------------------------------------------------------ check, fits, gradients, lens
export type Slot = { dtype: string | null; shape: (number | null)[] | null };
export type Problem = { node: string; port: string; text: string };
export type CheckedNode = {
  key: string | null;
  inputs: Record<string, Slot>;
  outputs: (Slot & { name: string })[];
};
export type Check = { problems: Problem[]; nodes: Record<string, CheckedNode> };
export type Side = "input" | "output";
export type Fits = { ports: Record<string, string>; ops: { op: string; port: string }[] };
export type Differentiated = { page: Document; added: string[]; gradients: Record<string, string> };
export type Differentiable = { inputs: { name: string; reason: string }[] };
export type Lens = {
  marks: Record<string, number[]>;
  feeds: string[];
  fed: string[];
  wires: string[];
  partial: string;
};

// ------------------------------------------------------------------ runs
export type Summary = {
  min: number | string | null;
  max: number | string | null;
  mean: number | string | null;
  zeros: number;
  nans: number;
  infs: number;
  histogram: { edges: number[]; counts: number[] } | null;
  heat: { rows: number; columns: number; values: (number | null)[] } | null;
};
export type Value = {
  name: string;
  hash: string;
  dtype: string;
  shape: number[];
  bytes: number;
  table: unknown | null;
  summary: Summary | null;
};
export type Mismatch = { name: string; expected: string; got: string; text: string };
export type StudioEvent =
  | { type: "queued" | "started"; id: string }
  | { type: "node"; id: string; node: string; state: "running" }
  | {
      type: "node";
      id: string;
      node: string;
      state: "done" | "cached";
      key: string;
      seconds: number;
      outputs: Value[];
    }
  | { type: "progress"; id: string; done: number; total: number; step: number; steps: number }
  | { type: "error"; id: string; node: string; port: string; text: string; kind: string }
  | {
      type: "finished";
      id: string;
      state: "done" | "failed" | "stopped";
      seconds: number;
      ran: number;
      cached: number;
      mismatches: Mismatch[];
    }
  | { type: "files" }
  | { type: "restarted" };
export type Stepped = { id: string; done: string[]; next: string | null };
export type ValueRows = { shape: number[]; start: number; table: unknown };

// ------------------------------------------------------------------ session and files
export type Session = { key: string; version: string; folder: string; readonly: boolean };
export type FileInfo = { path: string; title: string; version: string; problems: boolean };
export type FileList = { pages: FileInfo[]; examples: FileInfo[]; recovered: string[] };
export type Recovered = { page: Document; saved_at: string };
export type OpenedFile = {
  page: Document;
  path: string;
  version: string;
  trusted: boolean;
  recovered: Recovered | null;
};
export type SavedFile = { version: string; page: Document };
export type ImportedFile = { page: Document; title: string; notes: string[] };
export type ExportKind = "page" | "python" | "graphdef" | "svg";
export type Refusal = { kind: string; text: string; node?: string; port?: string };
