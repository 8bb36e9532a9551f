import { flattened, isComplex, isOddWord, sizeOf } from "./cells";
import { kindOf } from "./dtypes";
import { formatColumn } from "./format";

/** A table to be shown: which rows and columns of the value, and their texts. */
export type Shown = {
  rows: { row: number; texts: string[] }[];
  /** Rows that are not shown, before the row at the same place; one more for those at the end. */
  gaps: number[];
  hiddenColumns: number;
};

/** The rows to show when there is room for `room`: the first ones, unless rows further down are lit. */
export function chosenRows(count: number, room: number, lit: readonly number[] | null): number[] {
  if (count <= room) return Array.from({ length: count }, (_, row) => row);
  const wanted = new Set((lit ?? []).filter((row) => row >= 0 && row < count).slice(0, room));
  for (let row = 0; wanted.size < room; row += 1) wanted.add(row);
  return [...wanted].sort((a, b) => a - b);
}

/** A value's elements as texts by row (first axis) and column (all the others in one). */
export function shownTable(
  table: unknown,
  dtype: string,
  shape: readonly number[],
  room: { rows: number; columns: number; digits?: number },
  lit: readonly number[] | null,
): Shown | null {
  const tensor = flattened(table, kindOf(dtype) === "complex");
  if (tensor === null || tensor.cells.length !== sizeOf(shape)) return null;
  const count = shape[0] ?? 1;
  const width = sizeOf(shape.slice(1));
  // The line that says how many are left out takes the place of a row.
  const rows = chosenRows(count, count <= room.rows ? room.rows : room.rows - 1, lit);
  const columns = width <= room.columns ? width : room.columns - 1;
  const texts: string[][] = rows.map(() => []);
  for (let column = 0; column < columns; column += 1) {
    const cells = rows.map((row) => tensor.cells[row * width + column]);
    for (const [at, text] of formatColumn(cells, dtype, room.digits).entries())
      (texts[at] as string[]).push(short(text));
  }
  const gaps = rows.map((row, at) => row - (at === 0 ? 0 : (rows[at - 1] as number) + 1));
  gaps.push(count - 1 - (rows.at(-1) ?? count - 1));
  return { rows: rows.map((row, at) => ({ row, texts: texts[at] as string[] })), gaps, hiddenColumns: width - columns };
}

function short(text: string): string {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

/** Bytes as people read them. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["kB", "MB", "GB", "TB"];
  const power = Math.min(units.length, Math.floor(Math.log10(bytes) / 3));
  const amount = bytes / 1000 ** power;
  return `${amount >= 100 ? amount.toFixed(0) : amount.toPrecision(3)} ${units[power - 1]}`;
}

export function isOdd(cell: unknown): boolean {
  return isOddWord(cell) || (isComplex(cell) && cell.some(isOdd));
}
