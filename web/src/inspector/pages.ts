/** Parts of a large value, fetched as they come into view and kept. */
import { api, reason } from "../api/client";
import type { Value, ValueRows } from "../api/types";
import { type Cell, flattened, sizeOf, type Tensor } from "../values/cells";
import { kindOf } from "../values/dtypes";
import { MOST_ELEMENTS } from "../values/gridModel";
import { matrixOf } from "./slices";

export const ROWS_AT_ONCE = 100;
export const COLUMNS_AT_ONCE = 50;
const MOST_BLOCKS = 400;

type Query = Record<string, string | number>;
export type Fetch = (query: Query) => Promise<ValueRows>;

/** The elements that a query is answered with. */
async function cellsOf(fetch: Fetch, dtype: string, slice: string, query: Query): Promise<readonly unknown[]> {
  const { table } = await fetch(slice === "" ? query : { ...query, slice });
  return flattened(table, kindOf(dtype) === "complex")?.cells ?? [];
}

/** The value's cells by block; what is not there yet is asked for once. */
export class Pages {
  private readonly blocks = new Map<string, readonly unknown[] | null>();
  private width = new Map<string, number>();
  error = "";

  constructor(
    private readonly fetch: Fetch,
    private readonly dtype: string,
    private readonly slice: string,
    private readonly columns: number,
    private readonly tell: () => void,
  ) {}

  /** An element, or undefined while it is on its way. */
  at(row: number, column: number): unknown {
    const key = keyOf(row, column);
    const cells = this.blocks.get(key);
    if (!cells) return undefined;
    const width = this.width.get(key) ?? 1;
    return cells[(row % ROWS_AT_ONCE) * width + (column % COLUMNS_AT_ONCE)];
  }

  /** Sees to it that an area will be there. */
  want(firstRow: number, lastRow: number, firstColumn: number, lastColumn: number): void {
    for (let row = floor(firstRow, ROWS_AT_ONCE); row <= lastRow; row += ROWS_AT_ONCE) {
      for (let column = floor(firstColumn, COLUMNS_AT_ONCE); column <= lastColumn; column += COLUMNS_AT_ONCE) {
        void this.load(row, column);
      }
    }
  }

  private async load(row: number, column: number): Promise<void> {
    const key = keyOf(row, column);
    if (this.blocks.has(key)) return;
    if (this.blocks.size >= MOST_BLOCKS) this.forget();
    this.blocks.set(key, null);
    const wide = Math.min(COLUMNS_AT_ONCE, this.columns - column);
    const query = { start: row, count: ROWS_AT_ONCE, columns: `${column},${wide}` };
    try {
      this.blocks.set(key, await cellsOf(this.fetch, this.dtype, this.slice, query));
      this.width.set(key, wide);
      this.error = "";
    } catch (problem) {
      this.blocks.delete(key);
      this.error = reason(problem);
    }
    this.tell();
  }

  private forget(): void {
    for (const key of [...this.blocks.keys()].slice(0, MOST_BLOCKS / 4)) {
      this.blocks.delete(key);
      this.width.delete(key);
    }
  }
}

function floor(place: number, step: number): number {
  return Math.floor(place / step) * step;
}

function keyOf(row: number, column: number): string {
  return `${floor(row, ROWS_AT_ONCE)},${floor(column, COLUMNS_AT_ONCE)}`;
}

/** A value as a tensor, for the grid editor. */
export async function valueTensor(value: Value): Promise<Tensor> {
  const size = sizeOf(value.shape);
  if (size > MOST_ELEMENTS) {
    const [has, most] = [size.toLocaleString("en"), MOST_ELEMENTS.toLocaleString("en")];
    throw new Error(`${has} elements are too many for the grid, which holds ${most}.`);
  }
  const { rows, columns } = matrixOf(value.shape);
  const cells = size === 0 ? [] : await wholeValue(value.hash, value.dtype, "", rows, columns);
  return { shape: [...value.shape], cells: cells as Cell[] };
}

const MOST_ANSWERED = 10_000;

/** All elements of a part of a value, one answer after the other. */
export async function wholeValue(
  hash: string,
  dtype: string,
  slice: string,
  rows: number,
  columns: number,
): Promise<unknown[]> {
  const cells: unknown[] = [];
  const wide = Math.max(1, Math.min(columns, MOST_ANSWERED));
  const count = Math.max(1, Math.floor(MOST_ANSWERED / wide));
  for (let start = 0; start < rows; start += count) {
    const lines: unknown[][] = Array.from({ length: Math.min(count, rows - start) }, () => []);
    for (let column = 0; column < columns; column += wide) {
      const part = Math.min(wide, columns - column);
      const query = { start, count, columns: `${column},${part}` };
      const found = await cellsOf((asked) => api.value(hash, asked), dtype, slice, query);
      for (const [at, line] of lines.entries()) line.push(...found.slice(at * part, (at + 1) * part));
    }
    for (const line of lines) cells.push(...line);
  }
  return cells;
}
