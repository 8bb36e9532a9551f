// A page file's JSON, and what the page names in its questions; what the server answers is in types.ts.

export type Link = { from: string }; // "node" or "node.port"
export type InputName = { input: string }; // "node.port": what that input gets
export type Literal = unknown; // bare JSON, or {value, dtype?, shape?}, {file, sha256, dtype?}, {base64}
export type Argument = Link | InputName | Literal | (Link | Literal)[];
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
export type Side = "input" | "output";
export type ExportKind = "page" | "python" | "graphdef" | "svg" | "html";
