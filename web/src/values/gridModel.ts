/** What the grid editor holds and does, without a screen: texts by element, so that a slip stays where it was typed. */
import { type Cell, indexAt, sameShape, sizeOf, type Tensor } from "./cells";
import { piecesOf } from "./delimited";
import { fitted, kindOf, misfit, zeroOf } from "./dtypes";
import { ParseError } from "./errors";
import { cellText, readCell } from "./numbers";
import { whyNot } from "./scan";
import { hasBrackets, parseCells } from "./tensors";

export const MOST_ELEMENTS = 100_000;
const MOST_STEPS = 100;
const MOST_KEPT = 4_000_000; // elements in all steps that can be undone

export type Model = { shape: readonly number[]; texts: readonly string[]; dtype: string };
export type Place = { row: number; column: number };
export type Area = { top: number; left: number; bottom: number; right: number };
export type History = { past: readonly Model[]; now: Model; future: readonly Model[] };

// ------------------------------------------------------------------ elements as texts
/** How an element stands in its cell: as it would be typed. */
export function textOf(cell: Cell): string {
  return typeof cell === "string" ? cell : cellText(cell);
}

/** The element that a cell's text writes, or what is wrong with it in words. */
export function cellOf(text: string, dtype: string): { cell: Cell } | { problem: string } {
  if (kindOf(dtype) === "string") return { cell: text };
  const word = text.trim();
  if (word === "") return { problem: "A value is missing here" };
  const read = readCell(word);
  if (read === null) return { problem: whyNot(word) };
  const cell = fitted(read, dtype);
  const why = misfit(cell, dtype);
  return why === "" ? { cell } : { problem: why };
}

export function modelOf(tensor: Tensor, dtype: string): Model {
  return { shape: tensor.shape, texts: tensor.cells.map((cell) => textOf(cell)), dtype };
}

export type Read = { model: Model; tensor: Tensor; problems: Map<number, string> };

/** The tensor of a model, and the places whose texts are no elements; what stands as before is not read again. */
export function tensorOf(model: Model, before: Read | null = null): Read {
  const usable =
    before !== null && before.model.dtype === model.dtype && before.model.texts.length === model.texts.length;
  const old = usable ? before : null;
  const problems = new Map<number, string>();
  const cells: Cell[] = new Array(model.texts.length);
  for (let at = 0; at < model.texts.length; at += 1) {
    const text = model.texts[at] as string;
    if (old !== null && old.model.texts[at] === text) {
      const known = old.problems.get(at);
      if (known !== undefined) problems.set(at, known);
      cells[at] = old.tensor.cells[at] as Cell;
      continue;
    }
    const read = cellOf(text, model.dtype);
    if ("problem" in read) problems.set(at, read.problem);
    cells[at] = "problem" in read ? 0 : read.cell;
  }
  return { model, tensor: { shape: [...model.shape], cells }, problems };
}

// ------------------------------------------------------------------ the sheet that is seen
/** The matrix that the last two axes make, at a place of the axes before them. */
export type Sheet = { rows: number; columns: number; base: number };

export function sheetOf(shape: readonly number[], slice: readonly number[]): Sheet {
  if (shape.length === 0) return { rows: 1, columns: 1, base: 0 };
  if (shape.length === 1) return { rows: shape[0] as number, columns: 1, base: 0 };
  const rows = shape.at(-2) as number;
  const columns = shape.at(-1) as number;
  let base = 0;
  for (let axis = 0; axis < shape.length - 2; axis += 1) base = base * (shape[axis] as number) + (slice[axis] ?? 0);
  return { rows, columns, base: base * rows * columns };
}

export function offsetOf(sheet: Sheet, at: Place): number {
  return sheet.base + at.row * sheet.columns + at.column;
}

export type Size = Pick<Sheet, "rows" | "columns">;

export function clamp(place: number, length: number): number {
  return Math.max(0, Math.min(place, length - 1));
}

/** The place of a sheet that is nearest. */
export function within({ rows, columns }: Size, row: number, column: number): Place {
  return { row: clamp(row, rows), column: clamp(column, columns) };
}

/** The element's index in words: "[2, 0, 1]". */
export function indexOf(shape: readonly number[], slice: readonly number[], at: Place): number[] {
  if (shape.length === 0) return [];
  if (shape.length === 1) return [at.row];
  return [...Array.from({ length: shape.length - 2 }, (_, axis) => slice[axis] ?? 0), at.row, at.column];
}

/** Where in the sheet, and in which, an element stands. */
export function placeOf(shape: readonly number[], flat: number): { slice: number[]; at: Place } {
  if (shape.length < 2) return { slice: [], at: { row: flat, column: 0 } };
  const [column, row, ...slice] = indexAt(shape, flat).reverse() as [number, number, ...number[]];
  return { slice: slice.reverse(), at: { row, column } };
}

export function areaOf(a: Place, b: Place): Area {
  return {
    top: Math.min(a.row, b.row),
    left: Math.min(a.column, b.column),
    bottom: Math.max(a.row, b.row),
    right: Math.max(a.column, b.column),
  };
}

// ------------------------------------------------------------------ changes
export function setTexts(model: Model, sheet: Sheet, at: Place, texts: readonly (readonly string[])[]): Model {
  const made = [...model.texts];
  for (const [row, line] of texts.entries()) {
    for (const [column, text] of line.entries()) {
      const place: Place = { row: at.row + row, column: at.column + column };
      if (place.row >= sheet.rows || place.column >= sheet.columns) continue;
      made[offsetOf(sheet, place)] = text;
    }
  }
  return { ...model, texts: made };
}

export function fill(model: Model, sheet: Sheet, area: Area, text: string): Model {
  const width = area.right - area.left + 1;
  const lines = Array.from({ length: area.bottom - area.top + 1 }, () => new Array<string>(width).fill(text));
  return setTexts(model, sheet, { row: area.top, column: area.left }, lines);
}

export function zeroText(dtype: string): string {
  return textOf(zeroOf(dtype));
}

/** A model with an axis cut, and filled up with zeros, at a place. */
export function splice(model: Model, axis: number, at: number, remove: number, insert: number): Model {
  const length = model.shape[axis] as number;
  const inner = sizeOf(model.shape.slice(axis + 1));
  const outer = sizeOf(model.shape.slice(0, axis));
  const added = new Array<string>(insert * inner).fill(zeroText(model.dtype));
  const texts: string[] = [];
  for (let block = 0; block < outer; block += 1) {
    const start = block * length * inner;
    for (let place = start; place < start + at * inner; place += 1) texts.push(model.texts[place] as string);
    for (const text of added) texts.push(text);
    for (let place = start + (at + remove) * inner; place < start + length * inner; place += 1) {
      texts.push(model.texts[place] as string);
    }
  }
  const shape = model.shape.map((size, which) => (which === axis ? size - remove + insert : size));
  return { ...model, shape, texts };
}

/** A model in another shape: the same elements if they are as many, else cut or filled up with zeros. */
export function reshape(model: Model, shape: readonly number[]): Model {
  if (sizeOf(shape) === model.texts.length) return { ...model, shape };
  const rank = Math.max(shape.length, model.shape.length);
  const from = [...new Array<number>(rank - model.shape.length).fill(1), ...model.shape];
  const to = [...new Array<number>(rank - shape.length).fill(1), ...shape];
  let made: Model = { ...model, shape: from };
  for (const [axis, length] of to.entries()) {
    const had = made.shape[axis] as number;
    made = length < had ? splice(made, axis, length, had - length, 0) : splice(made, axis, had, 0, length - had);
  }
  return { ...made, shape };
}

/** The shape that a text writes, or a ParseError in words. */
export function parseShape(text: string, most = MOST_ELEMENTS): number[] {
  const bare = text.trim().replace(/^[[(]|[\])]$/g, "");
  const parts = bare.split(/[\s,x×]+/).filter((part) => part !== "");
  const shape = parts.map((part) => {
    if (!/^\d{1,9}$/.test(part)) throw new ParseError(`“${part}” is no length; a shape is written as 2, 3`);
    return Number(part);
  });
  if (shape.length > 8) throw new ParseError("At most 8 axes are edited here");
  if (sizeOf(shape.map((length) => Math.max(1, length))) > most) {
    throw new ParseError(`At most ${most.toLocaleString("en")} elements are edited here; put more into a data file`);
  }
  return shape;
}

// ------------------------------------------------------------------ paste
export type Pasted = { model: Model; area: Area; whole: boolean };

/**
 * A model with text pasted at a place. Text with brackets has a shape of its own and takes the place of the whole
 * tensor; cells go into the sheet from the place on, which grows where they do not fit.
 */
export function paste(
  model: Model,
  slice: readonly number[],
  area: Area,
  text: string,
  dtypes: readonly string[],
): Pasted {
  if (hasBrackets(text) && kindOf(model.dtype) !== "string") return replaced(model, text, dtypes);
  if (kindOf(model.dtype) === "string" && /^\s*[[({]/.test(text)) return replaced(model, text, dtypes);
  const pieces = piecesOf(text).map((line) =>
    line.map((piece) => (kindOf(model.dtype) === "string" ? piece : piece.trim())),
  );
  const height = pieces.length;
  const width = Math.max(...pieces.map((line) => line.length));
  const sheet = sheetOf(model.shape, slice);
  if (height === 1 && width === 1) {
    return { model: fill(model, sheet, area, (pieces[0] as string[])[0] as string), area, whole: false };
  }
  if (model.shape.length === 0) {
    const flat = height === 1 || width === 1;
    const shape = flat ? [height * width] : [height, width];
    const texts = pieces.flatMap((line) => [...line, ...new Array<string>(width - line.length).fill("")]);
    checkSize(sizeOf(shape));
    return {
      model: { ...model, shape, texts },
      area: { top: 0, left: 0, bottom: height - 1, right: width - 1 },
      whole: true,
    };
  }
  // A row that is pasted into a vector runs down its only column.
  const turned = model.shape.length === 1 && height === 1 ? (pieces[0] as string[]).map((piece) => [piece]) : pieces;
  const size = { rows: turned.length, columns: Math.max(...turned.map((line) => line.length)) };
  const grown = grow(model, area.top + size.rows, area.left + size.columns);
  const now = sheetOf(grown.shape, slice);
  const made = setTexts(grown, now, { row: area.top, column: area.left }, turned);
  const bottom = Math.min(now.rows, area.top + size.rows) - 1;
  const right = Math.min(now.columns, area.left + size.columns) - 1;
  return { model: made, area: { top: area.top, left: area.left, bottom, right }, whole: false };
}

function replaced(model: Model, text: string, dtypes: readonly string[]): Pasted {
  const read = parseCells(text, kindOf(model.dtype) === "string" ? "string" : "");
  checkSize(read.cells.length);
  const dtype = read.dtype !== null && dtypes.includes(read.dtype) ? read.dtype : model.dtype;
  const sheet = sheetOf(read.shape, []);
  const area = { top: 0, left: 0, bottom: Math.max(0, sheet.rows - 1), right: Math.max(0, sheet.columns - 1) };
  return { model: modelOf({ shape: read.shape, cells: read.cells }, dtype), area, whole: true };
}

function grow(model: Model, rows: number, columns: number): Model {
  const rank = model.shape.length;
  const wanted = model.shape.map((length, axis) =>
    Math.max(length, axis === rank - 1 ? (rank === 1 ? rows : columns) : axis === rank - 2 ? rows : 0),
  );
  if (rank === 1 && columns > 1) throw new ParseError("A vector has one column; set the shape to paste several");
  checkSize(sizeOf(wanted));
  return sameShape(wanted, model.shape) ? model : reshape(model, wanted);
}

function checkSize(size: number): void {
  if (size <= MOST_ELEMENTS) return;
  const [has, most] = [size.toLocaleString("en"), MOST_ELEMENTS.toLocaleString("en")];
  throw new ParseError(`${has} elements are too many for the grid, which holds ${most}; put them into a data file`);
}

/** The texts of an area as a spreadsheet takes them. */
export function copied(model: Model, sheet: Sheet, area: Area): string {
  const lines: string[] = [];
  for (let row = area.top; row <= Math.min(area.bottom, sheet.rows - 1); row += 1) {
    const start = sheet.base + row * sheet.columns;
    lines.push(model.texts.slice(start + area.left, start + Math.min(area.right, sheet.columns - 1) + 1).join("\t"));
  }
  return lines.join("\n");
}

// ------------------------------------------------------------------ undo
export function begun(model: Model): History {
  return { past: [], now: model, future: [] };
}

export function changed(history: History, model: Model): History {
  if (model === history.now) return history;
  const past = [...history.past, history.now].slice(-MOST_STEPS);
  let kept = past.reduce((sum, one) => sum + one.texts.length, 0);
  while (past.length > 1 && kept > MOST_KEPT) kept -= (past.shift() as Model).texts.length;
  return { past, now: model, future: [] };
}

export function undone(history: History): History {
  const before = history.past.at(-1);
  if (before === undefined) return history;
  return { past: history.past.slice(0, -1), now: before, future: [history.now, ...history.future] };
}

export function redone(history: History): History {
  const [next, ...future] = history.future;
  return next === undefined ? history : { past: [...history.past, history.now], now: next, future };
}
