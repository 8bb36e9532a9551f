// Every change of a page, as a pure function from a document to a document. What a change does not touch stays the same object.
import type { Argument, Document, Entry, Group, Literal, Note, Point } from "../api/types";
import type { Change } from "../store/types";
import { has, inputOf, isLink, splitPort, splitSource } from "./links";

export const EMPTY: Document = { format: "gradbag-page/1", nodes: {} };

// ------------------------------------------------------------------ small tools
/** A record with one key set, or without it; the order of the others stays, a new key comes last. */
function put<T>(record: Record<string, T> | undefined, key: string, value: T | undefined): Record<string, T> {
  const entries = Object.entries(record ?? {});
  const at = entries.findIndex(([name]) => name === key);
  if (value === undefined) return Object.fromEntries(entries.filter(([name]) => name !== key));
  if (at < 0) entries.push([key, value]);
  else entries[at] = [key, value];
  return Object.fromEntries(entries);
}

/** A document with a section replaced; an empty optional section goes away. */
function withSection<T>(document: Document, name: string, section: Record<string, T>): Document {
  if (Object.keys(section).length) return { ...document, [name]: section };
  if (!has(document, name)) return document;
  const { [name]: _, ...rest } = document;
  return rest as Document;
}

function withEntry(document: Document, node: string, change: (entry: Entry) => Entry): Document {
  const entry = has(document.nodes, node) ? document.nodes[node] : undefined;
  if (!entry) return document;
  const changed = change(entry);
  return changed === entry ? document : { ...document, nodes: put(document.nodes, node, changed) };
}

function withPart(entry: Entry, part: "in" | "attrs", record: Record<string, unknown>): Entry {
  if (Object.keys(record).length) return { ...entry, [part]: record };
  const { [part]: _, ...rest } = entry;
  return rest as Entry;
}

export const inOrder =
  (...changes: Change[]): Change =>
  (document) =>
    changes.reduce((now, change) => change(now), document);

// ------------------------------------------------------------------ ports and settings
/** What stands in a port: a literal, a link, or nothing (undefined). In a list, "values[2]"; one past its end appends. */
export const setArgument =
  (node: string, port: string, value: Argument | undefined): Change =>
  (document) =>
    withEntry(document, node, (entry) => {
      const [name, place] = splitPort(port);
      if (place === null || has(entry.in, port)) return withPart(entry, "in", put(entry.in, port, value));
      const now = has(entry.in, name) ? entry.in?.[name] : undefined;
      const list = Array.isArray(now) ? [...now] : now === undefined ? [] : [now];
      if (value === undefined) list.splice(place, 1);
      else list[Math.min(place, list.length)] = value;
      return withPart(entry, "in", put(entry.in, name, list.length ? list : undefined));
    });

export const connect = (node: string, port: string, from: string): Change => setArgument(node, port, { from });
export const disconnect = (node: string, port: string): Change => setArgument(node, port, undefined);
export const setLiteral = (node: string, port: string, literal: Literal | undefined): Change =>
  setArgument(node, port, literal);

export const setAttr =
  (node: string, attr: string, value: unknown): Change =>
  (document) =>
    withEntry(document, node, (entry) => withPart(entry, "attrs", put(entry.attrs, attr, value)));

// ------------------------------------------------------------------ nodes
export const addNode =
  (node: string, entry: Entry, at: Point): Change =>
  (document) => ({
    ...document,
    nodes: put(document.nodes, node, entry),
    layout: put(document.layout, node, rounded(at)),
  });

export const moveNodes =
  (positions: Record<string, Point>): Change =>
  (document) => {
    const moved = Object.entries(positions).filter(([node]) => has(document.nodes, node));
    if (!moved.length) return document;
    const layout = { ...document.layout };
    for (const [node, at] of moved) layout[node] = rounded(at);
    return { ...document, layout };
  };

/** Nodes go, and with them every wire from them and every mention of them. */
export const removeNodes =
  (nodes: readonly string[]): Change =>
  (document) => {
    const gone = new Set(nodes.filter((node) => has(document.nodes, node)));
    if (!gone.size) return document;
    const mentions = (source: unknown) =>
      typeof source === "string" && gone.has(splitSource(document.nodes, source)[0]);
    const kept = Object.entries(document.nodes)
      .filter(([node]) => !gone.has(node))
      .map(([node, entry]): [string, Entry] => [node, unlinked(entry, mentions)]);
    return mapMentions({ ...document, nodes: Object.fromEntries(kept) }, (source) =>
      mentions(source) ? null : source,
    );
  };

function unlinked(entry: Entry, mentions: (source: unknown) => boolean): Entry {
  let changed = mapLinks(entry, (from) => (mentions(from) ? null : from));
  if (Array.isArray(changed.after) && changed.after.some(mentions)) {
    const after = changed.after.filter((name) => !mentions(name));
    const { after: _, ...rest } = changed;
    changed = after.length ? { ...changed, after } : (rest as Entry);
  }
  return changed;
}

/** A node under another name; links, runs, expectations and groups follow. */
export const renameNode =
  (from: string, to: string): Change =>
  (document) => {
    if (from === to || !has(document.nodes, from) || has(document.nodes, to) || !to) return document;
    const renamed = (source: string): string => {
      const [node, port] = splitSource(document.nodes, source);
      return node !== from ? source : port ? `${to}.${port}` : to;
    };
    const nodes = Object.entries(document.nodes).map(([node, entry]): [string, Entry] => {
      let changed = mapLinks(entry, renamed);
      if (Array.isArray(changed.after) && changed.after.includes(from)) {
        changed = { ...changed, after: changed.after.map((name) => (name === from ? to : name)) };
      }
      return [node === from ? to : node, changed];
    });
    return mapMentions({ ...document, nodes: Object.fromEntries(nodes) }, renamed);
  };

/** An entry whose links have gone through `change`; null takes a link away. */
export function mapLinks(entry: Entry, change: (from: string) => string | null): Entry {
  if (!entry.in) return entry;
  let touched = false;
  const one = (value: Argument): Argument | undefined => {
    const input = inputOf(value);
    if (input !== null) {
      // The port is part of its name, and no output of that node: only the node may change.
      const dot = input.lastIndexOf(".");
      const node = change(input.slice(0, dot));
      if (node === input.slice(0, dot)) return value;
      touched = true;
      return node === null ? undefined : { input: `${node}${input.slice(dot)}` };
    }
    if (!isLink(value) || typeof value.from !== "string") return value;
    const from = change(value.from);
    if (from === value.from) return value;
    touched = true;
    return from === null ? undefined : { ...value, from };
  };
  const inputs: Record<string, Argument> = {};
  for (const [port, value] of Object.entries(entry.in)) {
    const changed = Array.isArray(value) ? value.map(one).filter((item) => item !== undefined) : one(value);
    const emptied = Array.isArray(value) && Array.isArray(changed) && value.length > 0 && changed.length === 0;
    if (changed !== undefined && !emptied) inputs[port] = changed;
  }
  return touched ? withPart(entry, "in", inputs) : entry;
}

/** Runs, expectations, layout and groups name nodes too: each name goes through `change`; null takes it away. */
function mapMentions(document: Document, change: (source: string) => string | null): Document {
  let changed = document;
  const keys = <T>(record: Record<string, T>): Record<string, T> =>
    Object.fromEntries(
      Object.entries(record).flatMap(([name, value]) => {
        const to = change(name);
        return to === null ? [] : [[to, value]];
      }),
    );
  const list = (names: string[]) => names.map(change).filter((name) => name !== null);
  if (document.layout) changed = withSection(changed, "layout", keys(document.layout));
  if (document.expect) changed = withSection(changed, "expect", keys(document.expect));
  if (document.runs) {
    const runs = Object.entries(document.runs).map(([name, run]) => {
      const now = { ...run };
      if (Array.isArray(run.fetch)) now.fetch = list(run.fetch);
      if (Array.isArray(run.only)) now.only = list(run.only);
      if (run.feed) now.feed = keys(run.feed);
      // A run that fetched only what has gone falls back to all leaves.
      if (now.fetch?.length === 0 && run.fetch?.length) delete now.fetch;
      return [name, now] as const;
    });
    changed = { ...changed, runs: Object.fromEntries(runs) };
  }
  if (document.groups) {
    const groups = Object.entries(document.groups).flatMap(([name, group]): [string, Group][] => {
      const nodes = list(group.nodes ?? []);
      return nodes.length || !group.nodes?.length ? [[name, { ...group, nodes }]] : [];
    });
    changed = withSection(changed, "groups", Object.fromEntries(groups));
  }
  return changed;
}

// ------------------------------------------------------------------ groups and notes
export const setGroup =
  (name: string, group: Group | undefined): Change =>
  (document) =>
    withSection(document, "groups", put(document.groups, name, group));

/** A node stands in one group at most. */
export const groupNodes =
  (name: string, title: string, nodes: readonly string[], color: number): Change =>
  (document) => {
    const taken = new Set(nodes);
    const others = Object.entries(document.groups ?? {}).flatMap(([other, group]): [string, Group][] => {
      const kept = group.nodes.filter((node) => !taken.has(node));
      return kept.length ? [[other, kept.length === group.nodes.length ? group : { ...group, nodes: kept }]] : [];
    });
    return { ...document, groups: put(Object.fromEntries(others), name, { title, nodes: [...nodes], color }) };
  };

export const setNote =
  (name: string, note: Note | undefined): Change =>
  (document) =>
    withSection(document, "notes", put(document.notes, name, note && { ...note, at: rounded(note.at) }));

export const setTitle =
  (title: string): Change =>
  (document) => {
    if (title) return { ...document, title };
    const { title: _, ...rest } = document;
    return rest as Document;
  };

// ------------------------------------------------------------------ names
/** A readable name that is still free: "sum", "sum_2", "sum_3", … */
export function freeName(wanted: string, taken: (name: string) => boolean): string {
  const stem = wanted || "node";
  if (!taken(stem)) return stem;
  const base = stem.replace(/_\d+$/, "");
  let number = 2;
  while (taken(`${base}_${number}`)) number += 1;
  return `${base}_${number}`;
}

/** CamelCase as a slug: the form in which an op's name becomes a node's. */
export function slug(text: string): string {
  return text
    .replace(/([a-z0-9])([A-Z])/g, "$1_$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1_$2")
    .toLowerCase()
    .replace(/[^a-z0-9_]+/g, "_")
    .replace(/^_+|_+$/g, "");
}

/** Why a name cannot be a node's; "" when it can. */
export function nameProblem(name: string, document: Document, own: string): string {
  if (!name) return "A block needs a name.";
  if (!/^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$/.test(name)) {
    return "Letters, digits, _ . - / only, and a letter or digit first.";
  }
  if (name !== own && has(document.nodes, name)) return `There is a block ${name} already.`;
  return "";
}

function rounded([x, y]: Point): Point {
  return [Math.round(x), Math.round(y)];
}
