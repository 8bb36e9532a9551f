/**
 * Tensors as the page holds them: a shape, and the elements in row-major order.
 *
 * An element is what a page file can write: a number, "nan", "inf" or "-inf", an integer beyond 2^53 as its digits,
 * a bool, text, or a complex number as [re, im].
 */
export type Real = number | string;
export type Cell = Real | boolean | readonly [Real, Real];
export type Tensor = { shape: number[]; cells: Cell[] };

/** Whether an element is a word for what is no finite number. */
export function isOddWord(cell: unknown): boolean {
  return cell === "nan" || cell === "inf" || cell === "-inf";
}

export const MOST_AXES = 32;

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((size, length) => size * length, 1);
}

export function isComplex(cell: unknown): cell is readonly [Real, Real] {
  return Array.isArray(cell);
}

/** The index of an element, axis by axis, from its place in row-major order. */
export function indexAt(shape: readonly number[], place: number): number[] {
  const index: number[] = [];
  let rest = place;
  for (const length of [...shape].reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return index;
}

/** Nested lists of a tensor's elements; an element alone for rank 0. */
export function nested(cells: readonly Cell[], shape: readonly number[]): unknown {
  if (shape.length === 0) return cells[0];
  let level: unknown[] = cells as unknown[];
  for (let axis = shape.length - 1; axis > 0; axis -= 1) {
    const length = shape[axis] as number;
    const count = sizeOf(shape.slice(0, axis));
    const lists: unknown[] = new Array(count);
    for (let at = 0; at < count; at += 1) lists[at] = level.slice(at * length, (at + 1) * length);
    level = lists;
  }
  return shape.length === 1 ? level.slice() : level;
}

/** The tensor that nested lists hold, or null where they are ragged; with `pairs`, an element is a list of two. */
export function flattened(value: unknown, pairs = false): Tensor | null {
  const shape: number[] = [];
  let level: unknown[] = [value];
  while (level.length > 0 && level.every(Array.isArray)) {
    const lists = level as unknown[][];
    const length = (lists[0] as unknown[]).length;
    if (lists.some((list) => list.length !== length) || shape.length > MOST_AXES) return null;
    shape.push(length);
    level = lists.flat();
  }
  if (level.some((one) => Array.isArray(one) || one === null || typeof one === "object")) return null;
  if (!pairs) return { shape, cells: level as Cell[] };
  if (level.length === 0) return { shape: shape.at(-1) === 2 ? shape.slice(0, -1) : shape, cells: [] };
  if (shape.at(-1) !== 2) return null;
  const cells: Cell[] = [];
  for (let at = 0; at < level.length; at += 2) cells.push([level[at] as Real, level[at + 1] as Real]);
  return { shape: shape.slice(0, -1), cells };
}

/** "[2, 3]", with "?" for a length that is not known. */
export function shapeText(shape: readonly (number | null)[] | null): string {
  return shape === null ? "[…]" : `[${shape.map((length) => length ?? "?").join(", ")}]`;
}

export function sameShape(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((length, axis) => length === b[axis]);
}
