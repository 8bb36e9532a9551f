/** A value too large to hold here: which part is looked at, as the matrix that the server gives it out in. */
import { indexAt, sizeOf } from "../values/cells";
import { ParseError } from "../values/errors";

export type Pick = { kind: "one"; at: number } | { kind: "some"; from: number; to: number };
export type Slice = { text: string; picks: Pick[]; shape: number[] };

/** The part that "1, :, 0:5" picks from a shape, or a ParseError. */
export function parseSlice(text: string, shape: readonly number[]): Slice {
  const words = text.trim() === "" ? [] : text.replace(/[[\]\s]/g, "").split(",");
  if (words.length > shape.length) {
    const axes = shape.length === 1 ? "1 axis" : `${shape.length} axes`;
    throw new ParseError(`This value has ${axes}; the slice names ${words.length}`);
  }
  const picks = shape.map((length, axis) => pickOf(words[axis] ?? ":", length, axis));
  const left = picks.flatMap((pick) => (pick.kind === "one" ? [] : [Math.max(0, pick.to - pick.from)]));
  return { text: words.join(","), picks, shape: left };
}

function pickOf(word: string, length: number, axis: number): Pick {
  const range = /^(-?\d{0,15}):(-?\d{0,15})$/.exec(word);
  if (range) {
    const bound = (part: string | undefined, otherwise: number) => {
      if (part === undefined || part === "" || part === "-") return otherwise;
      const place = Number(part);
      return Math.min(length, Math.max(0, place < 0 ? place + length : place));
    };
    return { kind: "some", from: bound(range[1], 0), to: bound(range[2], length) };
  }
  if (!/^-?\d{1,15}$/.test(word)) throw new ParseError(`“${word}” is no part of a slice; write 1, : or 0:5`);
  const place = Number(word);
  if (place < -length || place >= length)
    throw new ParseError(`Axis ${axis} has ${length} entries; there is no ${place}`);
  return { kind: "one", at: place < 0 ? place + length : place };
}

/** Rows and columns of the matrix that a shape is seen as: all axes but the last are rows; a vector is a column. */
export function matrixOf(shape: readonly number[]): { rows: number; columns: number } {
  if (shape.length < 2) return { rows: shape[0] ?? 1, columns: 1 };
  return { rows: sizeOf(shape.slice(0, -1)), columns: shape.at(-1) as number };
}

/** The index of a matrix row in the sliced shape's axes but the last: [4] → [1, 0]. */
export function rowIndex(shape: readonly number[], row: number): number[] {
  return shape.length < 2 ? shape.map(() => row) : indexAt(shape.slice(0, -1), row);
}

/** The row of the whole value's first axis that a matrix row belongs to. */
export function firstAxis(slice: Slice, row: number): number {
  const [pick] = slice.picks;
  if (pick === undefined) return 0;
  if (pick.kind === "one") return pick.at;
  // Without an axis in front, the first of the remaining ones is the value's first.
  return pick.from + (rowIndex(slice.shape, row)[0] ?? 0);
}

/** The matrix row in which a row of the first axis begins, or null where the slice leaves it out. */
export function rowOfFirst(slice: Slice, first: number): number | null {
  const [pick] = slice.picks;
  if (pick === undefined) return 0;
  if (pick.kind === "one") return pick.at === first ? 0 : null;
  if (first < pick.from || first >= pick.to) return null;
  return (first - pick.from) * sizeOf(slice.shape.slice(1, -1));
}
