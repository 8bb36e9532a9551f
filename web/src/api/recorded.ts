// A page that was exported as a web page: what its server said stands in it, and nothing else can be asked.
import type { Catalogue, Check, Document, Lens, Rounds, StudioEvent, ValueRows } from "./types";

export type Recorded = {
  page: Document;
  catalogue: Catalogue;
  check: Check;
  events: StudioEvent[];
  values: Record<string, ValueRows>; // by hash
  lenses: Record<string, Lens>; // by node, port, index and cell
  rounds: Rounds | null;
  version: string;
};

export const READ_ONLY = "This is a page for reading: it shows what was computed when it was made.";

function read(): Recorded | null {
  if (typeof document === "undefined") return null;
  const text = document.getElementById("gradbag-recorded")?.textContent;
  return text ? (JSON.parse(text) as Recorded) : null;
}

export const recorded: Recorded | null = read();

type Asked = { node?: string; port?: string; index?: number[]; cell?: number[] | null };

/** What the server would answer; undefined where that was not recorded. */
export function answerTo(kept: Recorded, route: string, body: unknown): unknown {
  const [path = "", query = ""] = route.split("?");
  const asked = (body ?? {}) as Asked;
  switch (path) {
    case "/api/session":
      return { key: "", version: kept.version, folder: "", readonly: true };
    case "/api/catalogue":
      return kept.catalogue;
    case "/api/files":
      return { pages: [], captures: [], examples: [], recovered: [] };
    case "/api/check":
      return kept.check;
    case "/api/rounds":
      return kept.rounds ?? undefined;
    case "/api/lens":
      return kept.lenses[JSON.stringify([asked.node, asked.port, asked.index, asked.cell ?? null])];
    default:
      if (path.startsWith("/api/value/")) return cut(kept.values[path.slice(11)], new URLSearchParams(query));
      if (path.startsWith("/api/file/"))
        return { page: kept.page, path: "example:recorded", version: "", trusted: true, recovered: null };
      return undefined;
  }
}

function cut(whole: ValueRows | undefined, query: URLSearchParams): ValueRows | undefined {
  if (!whole || query.get("slice") || query.get("columns") || !Array.isArray(whole.table)) return whole;
  const start = Number(query.get("start") ?? 0);
  return { ...whole, start, table: whole.table.slice(start, start + Number(query.get("count") ?? 100)) };
}
