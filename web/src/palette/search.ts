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
  return (query) => {
    const text = query.trim();
    if (!text) return [...ops];
    const found = index.search(text);
    const some = found.length ? found : index.search(text, { combineWith: "OR" });
    // Whose name holds most of the words, with the least beside them; then the rest as they were found.
    const words = text
      .toLowerCase()
      .split(/[^\p{L}\p{N}]+/u)
      .filter(Boolean);
    const rank = new Map(some.map((hit, place) => [String(hit.id), place]));
    const missing = (op: OpInfo) => words.filter((word) => !op.name.toLowerCase().includes(word)).length;
    const order = (op: OpInfo) => [
      missing(op),
      missing(op) < words.length ? op.name.length : 0,
      rank.get(op.name) ?? 0,
    ];
    const held = ops.filter((op) => rank.has(op.name) || missing(op) === 0);
    return held
      .map((op) => ({ op, by: order(op) }))
      .sort((a, b) => a.by.map((n, place) => n - (b.by[place] as number)).find((n) => n !== 0) ?? 0)
      .map(({ op }) => op);
  };
}
