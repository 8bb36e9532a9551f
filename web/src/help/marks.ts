/** A line of help as pieces: what stands between backticks is code. */
export type Piece = { code: boolean; text: string; at: number };

export function piecesOf(text: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(/`([^`\n]+)`/g)) {
    if (found.index > at) pieces.push({ code: false, text: text.slice(at, found.index), at });
    pieces.push({ code: true, text: found[1] as string, at: found.index });
    at = found.index + found[0].length;
  }
  if (at < text.length) pieces.push({ code: false, text: text.slice(at), at });
  return pieces;
}

/** A formula without the indent that all its lines share. */
export function dedented(text: string): string {
  const lines = text.replace(/\s+$/, "").split("\n");
  const indents = lines.filter((line) => line.trim() !== "").map((line) => line.length - line.trimStart().length);
  const least = Math.min(...indents, 40);
  return lines.map((line) => line.slice(least)).join("\n");
}
