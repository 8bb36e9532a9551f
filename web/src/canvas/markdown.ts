// The little of Markdown that a note needs, as data: it is drawn piece by piece, and nothing of it is ever markup of the page.
export type Inline =
  | { kind: "text" | "bold" | "slanted" | "code" | "low" | "high"; text: string }
  | { kind: "formula"; parts: Inline[] }
  | { kind: "link"; text: string; to: string }; // a block, or "block.3": a row of its value

export type Line = { kind: "heading" | "item" | "text"; parts: Inline[] };

const INLINE = /\*\*([^*\n]+)\*\*|\*([^*\n]+)\*|`([^`\n]+)`|\$([^$\n]+)\$|\[([^\]\n]+)\]\(#([^)\s]+)\)/g;
const SCRIPT = /([_^])(?:\{([^{}]*)\}|(\w))/g;
const SIGNS: Record<string, string> = {
  alpha: "α",
  cdot: "·",
  eta: "η",
  in: "∈",
  partial: "∂",
  sigma: "σ",
  sqrt: "√",
  sum: "Σ",
  times: "×",
};

/** Lines that follow each other are one paragraph. */
export function linesOf(text: string): Line[] {
  const lines: Line[] = [];
  let open: string[] = [];
  const close = () => {
    if (open.length) lines.push({ kind: "text", parts: inlineOf(open.join(" ")) });
    open = [];
  };
  for (const line of text.split("\n")) {
    const heading = /^#{1,3} +(.*)/.exec(line);
    const item = /^\s*[-*] +(.*)/.exec(line);
    if (heading || item || !line.trim()) close();
    if (heading) lines.push({ kind: "heading", parts: inlineOf(heading[1] as string) });
    else if (item) lines.push({ kind: "item", parts: inlineOf(item[1] as string) });
    else if (line.trim()) open.push(line.trim());
  }
  close();
  return lines;
}

export function inlineOf(text: string): Inline[] {
  return split(text, INLINE, ([, bold, slanted, code, formula, words, to]) => {
    if (bold !== undefined) return { kind: "bold", text: bold };
    if (slanted !== undefined) return { kind: "slanted", text: slanted };
    if (code !== undefined) return { kind: "code", text: code };
    if (formula !== undefined) return { kind: "formula", parts: formulaOf(formula) };
    return { kind: "link", text: words as string, to: to as string };
  });
}

/** Names with a backslash become signs; what stands after _ or ^ is set lower or higher. */
export function formulaOf(text: string): Inline[] {
  const signed = text
    .replace(/\\frac\{([^{}]*)\}\{([^{}]*)\}/g, "$1 ⁄ $2")
    .replace(/\\([a-z]+) ?/g, (all, name: string) => SIGNS[name] ?? all);
  return split(signed, SCRIPT, ([, sign, many, one]) => ({
    kind: sign === "_" ? "low" : "high",
    text: many ?? one ?? "",
  }));
}

function split(text: string, by: RegExp, made: (found: RegExpMatchArray) => Inline): Inline[] {
  const parts: Inline[] = [];
  let at = 0;
  for (const found of text.matchAll(by)) {
    if (found.index > at) parts.push({ kind: "text", text: text.slice(at, found.index) });
    parts.push(made(found));
    at = found.index + found[0].length;
  }
  if (at < text.length) parts.push({ kind: "text", text: text.slice(at) });
  return parts;
}
