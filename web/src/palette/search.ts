// Finding blocks by what they are called, what they belong to and what they do.
import MiniSearch from "minisearch";
import type { OpInfo } from "../api/types";

/** Words of a text; CamelCase is several. */
export function wordsOf(text: string): string[] {
  const apart = text.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/([A-Z])([A-Z][a-z])/g, "$1 $2");
  const words = apart.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const whole = text.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  return [...new Set([...words, ...whole])];
}

export type Finder = (query: string) => OpInfo[];

export function finder(ops: readonly OpInfo[]): Finder {
  const index = new MiniSearch<OpInfo>({
    idField: "name",
    fields: ["name", "title", "category", "summary", "words"],
    tokenize: wordsOf,
    searchOptions: {
      boost: { name: 5, title: 4, category: 2 },
      prefix: true,
      fuzzy: (term) => (term.length > 3 ? 0.2 : false),
      combineWith: "AND",
      tokenize: wordsOf,
    },
  });
  index.addAll(ops);
  const byName = new Map(ops.map((op) => [op.name, op]));
  return (query) => {
    const text = query.trim();
    if (!text) return [...ops];
    const found = index.search(text);
    const some = found.length ? found : index.search(text, { combineWith: "OR" });
    const wanted = text.toLowerCase();
    // Whose name it is; then whose name holds it with the least beside it; then the rest as they were found.
    const beside = (op: OpInfo) => {
      const names = [op.name.toLowerCase(), op.title.toLowerCase()].filter((name) => name.includes(wanted));
      return names.length ? Math.min(...names.map((name) => name.length - wanted.length)) : 1000;
    };
    return some.flatMap((hit) => byName.get(String(hit.id)) ?? []).sort((a, b) => beside(a) - beside(b));
  };
}
