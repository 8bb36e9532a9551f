// Blocks as text: a small page of their own, which any tab, editor or message can hold.
import type { Document, Entry, Group, Note, Point } from "../api/types";
import { freeName, mapLinks } from "./edits";
import { has, splitSource } from "./links";

export type Picked = { nodes: readonly string[]; groups?: readonly string[]; notes: readonly string[] };
export type Pasted = { document: Document; names: { nodes: string[]; groups: string[]; notes: string[] } };

/** The text of some blocks. `home` names the page, where wires from outside the fragment still have their source. */
export function fragmentOf(document: Document, picked: Picked, home: string): string {
  const wanted = new Set(picked.nodes);
  const some = <T>(record: Record<string, T> | undefined, keep: (name: string, value: T) => boolean) =>
    Object.fromEntries(Object.entries(record ?? {}).filter(([name, value]) => keep(name, value)));
  const groups = some(document.groups, (_, group) => group.nodes.length > 0 && group.nodes.every((n) => wanted.has(n)));
  const fragment: Document = {
    format: document.format,
    nodes: some(document.nodes, (name) => wanted.has(name)),
    layout: some(document.layout, (name) => wanted.has(name)),
    ...(Object.keys(groups).length ? { groups } : {}),
    ...(picked.notes.length ? { notes: some(document.notes, (name) => picked.notes.includes(name)) } : {}),
    home,
  };
  return JSON.stringify(fragment, null, 1);
}

/** The fragment in a text, or null when it holds none. */
export function readFragment(text: string): Document | null {
  try {
    const found: unknown = JSON.parse(text);
    if (!isRecord(found) || !isRecord(found.nodes)) return null;
    if (typeof found.format !== "string" || !found.format.startsWith("gradbag-page/")) return null;
    if (!Object.values(found.nodes).every((entry) => isRecord(entry) && typeof entry.op === "string")) return null;
    return found as Document;
  } catch {
    return null;
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The document with a fragment in it under free names. Wires inside the fragment follow; wires from outside stay on its own page. */
export function pasted(document: Document, fragment: Document, [dx, dy]: Point, here: string): Pasted {
  const names = new Map<string, string>();
  const used = new Set(Object.keys(document.nodes));
  for (const name of Object.keys(fragment.nodes)) {
    const free = freeName(name, (taken) => used.has(taken));
    used.add(free);
    names.set(name, free);
  }
  const home = fragment.home === here;
  const follow = (source: string): string | null => {
    const [inside, port] = splitSource(fragment.nodes, source);
    const free = names.get(inside);
    if (free !== undefined) return port ? `${free}.${port}` : free;
    const [outside] = splitSource(document.nodes, source);
    return home && has(document.nodes, outside) ? source : null;
  };
  const nodes: Record<string, Entry> = { ...document.nodes };
  const layout: Record<string, Point> = { ...document.layout };
  let row = 0;
  for (const [name, free] of names) {
    const entry = mapLinks(fragment.nodes[name] as Entry, follow);
    const { after, ...rest } = entry;
    const kept = (Array.isArray(after) ? after : []).map(follow).filter((source) => source !== null);
    nodes[free] = (kept.length ? { ...rest, after: kept } : rest) as Entry;
    const at = fragment.layout?.[name];
    layout[free] = isPoint(at) ? [Math.round(at[0] + dx), Math.round(at[1] + dy)] : [40, 40 + 120 * row++];
  }
  const result: Document = { ...document, nodes, layout };
  const groups = renamed<Group>(document.groups, fragment.groups, (group) => ({
    ...group,
    nodes: (group.nodes ?? []).map((node) => names.get(node)).filter((node) => node !== undefined),
  }));
  const notes = renamed<Note>(document.notes, fragment.notes, (note) => ({
    ...note,
    at: isPoint(note.at) ? [note.at[0] + dx, note.at[1] + dy] : [40, 40],
  }));
  if (groups.names.length) result.groups = groups.record;
  if (notes.names.length) result.notes = notes.record;
  return {
    document: result,
    names: { nodes: [...names.values()], groups: groups.names, notes: notes.names },
  };
}

function renamed<T>(old: Record<string, T> | undefined, more: unknown, change: (value: T) => T) {
  const record: Record<string, T> = { ...old };
  const names: string[] = [];
  for (const [name, value] of Object.entries(isRecord(more) ? more : {})) {
    if (!isRecord(value)) continue;
    const free = freeName(name, (taken) => has(record, taken));
    record[free] = change(value as T);
    names.push(free);
  }
  return { record, names };
}

function isPoint(value: unknown): value is Point {
  return Array.isArray(value) && value.length === 2 && value.every((part) => Number.isFinite(part));
}
