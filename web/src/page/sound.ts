// What can be shown of a document that a stranger, a merge or an editor has left with parts of the wrong form.
import type { Document, Entry, Group, Note, Point, Run } from "../api/types";

const FARTHEST = 1e7; // as on the server
const LARGEST = 1e5;
const LONGEST_TITLE = 1000;
const NOTE_SIZE: Point = [240, 120];
const MODES = ["once", "step", "loop"];

export type Sound = {
  page: Document;
  /** The places of what cannot be shown and was left out, "groups.first". */
  left: string[];
};

/** The document itself where all of it has the right form, else a copy of what has. */
export function sound(document: Document): Sound {
  const left: string[] = [];
  const made: Document = { ...document };
  const title: unknown = document.title;
  if (title !== undefined && (typeof title !== "string" || title.length > LONGEST_TITLE)) {
    left.push("title");
    made.title = typeof title === "string" ? title.slice(0, LONGEST_TITLE) : "";
  }
  const sections = {
    nodes: entryOf,
    runs: runOf,
    expect: (_: string, value: unknown) => value,
    layout: (_: string, value: unknown) => (isPoint(value, FARTHEST) ? value : undefined),
    groups: groupOf,
    notes: noteOf,
  };
  for (const [name, read] of Object.entries(sections)) {
    const given = document[name];
    if (given === undefined && name !== "nodes") continue;
    if (!isRecord(given)) {
      left.push(name);
      if (name === "nodes") made.nodes = {};
      else delete made[name];
      continue;
    }
    const kept = Object.entries(given).flatMap(([key, value]) => {
      const found = read(key, value, (part) => left.push(`${name}.${key}.${part}`));
      if (found === undefined) left.push(`${name}.${key}`);
      return found === undefined ? [] : [[key, found] as const];
    });
    made[name] = Object.fromEntries(kept);
  }
  return left.length ? { page: made, left } : { page: withSizes(document), left };
}

type Leave = (part: string) => void;

function entryOf(_: string, value: unknown, leave: Leave): Entry | undefined {
  if (!isRecord(value) || typeof value.op !== "string") return undefined;
  const made: Record<string, unknown> = { ...value };
  for (const part of ["in", "attrs"]) {
    if (value[part] !== undefined && !isRecord(value[part])) {
      leave(part);
      delete made[part];
    }
  }
  if (value.after !== undefined && !isNames(value.after)) {
    leave("after");
    delete made.after;
  }
  if (isRecord(made.in)) {
    const wrong = Object.entries(made.in).filter(([, one]) => (Array.isArray(one) ? one : [one]).some(isBrokenLink));
    for (const [port] of wrong) leave(`in.${port}`);
    if (wrong.length) made.in = without(made.in, new Set(wrong.map(([port]) => port)));
  }
  return made as Entry;
}

function runOf(_: string, value: unknown, leave: Leave): Run | undefined {
  if (!isRecord(value)) return undefined;
  const right: Record<string, (part: unknown) => boolean> = {
    fetch: isNames,
    only: isNames,
    feed: isRecord,
    mode: (mode) => MODES.includes(mode as string),
    steps: Number.isInteger,
    seed: Number.isInteger,
  };
  const wrong = Object.keys(value).filter((part) => part in right && !right[part]?.(value[part]));
  for (const part of wrong) leave(part);
  return without(value, new Set(wrong)) as Run;
}

function groupOf(_: string, value: unknown): Group | undefined {
  if (!isRecord(value) || !isNames(value.nodes)) return undefined;
  return { ...value, title: typeof value.title === "string" ? value.title : "", nodes: value.nodes };
}

function noteOf(_: string, value: unknown): Note | undefined {
  if (!isRecord(value) || typeof value.text !== "string" || !isPoint(value.at, FARTHEST)) return undefined;
  const size = value.size ?? NOTE_SIZE;
  if (!isPoint(size, LARGEST) || size.some((side) => side <= 0)) return undefined;
  return { ...value, text: value.text, at: value.at, size };
}

/** Notes without a size, which older pages have, get the usual one; nothing else is made anew. */
function withSizes(document: Document): Document {
  const bare = Object.entries(document.notes ?? {}).filter(([, note]) => note.size === undefined);
  if (!bare.length) return document;
  const sized = bare.map(([name, note]) => [name, { ...note, size: NOTE_SIZE }] as const);
  return { ...document, notes: { ...document.notes, ...Object.fromEntries(sized) } };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function isPoint(value: unknown, most: number): value is Point {
  return Array.isArray(value) && value.length === 2 && value.every((n) => Number.isFinite(n) && Math.abs(n) <= most);
}

function isBrokenLink(value: unknown): boolean {
  return isRecord(value) && "from" in value && typeof value.from !== "string";
}

function without(record: Record<string, unknown>, keys: ReadonlySet<string>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.has(key)));
}
