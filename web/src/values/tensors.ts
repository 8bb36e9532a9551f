import { type Cell, isComplex, isOddWord, MOST_AXES, nested, type Real, type Tensor } from "./cells";
import { readDelimited } from "./delimited";
import { type Kind, kindOf } from "./dtypes";
import { ParseError } from "./errors";
import { type Read, Scanner } from "./scan";

export const MOST_SIGNS = 16 * 1024 * 1024;

export type Parsed = {
  /** Nested lists, as a page file holds them. */
  value: unknown;
  shape: number[];
  /** What the elements are made of. */
  kind: Kind;
  /** The dtype that the text names itself, or null. */
  dtype: string | null;
};

/**
 * The tensor that a text writes: spreadsheet cells, comma separated values, Python lists, NumPy's print or brace text.
 *
 * With `dtype` "string", words without quotes are text.
 */
export function parseTensor(text: string, dtype = ""): Parsed {
  const { cells, shape, kind, dtype: named } = parseCells(text, dtype);
  return { value: nested(cells, shape), shape, kind, dtype: named };
}

/** The same, as a flat list of elements. */
export function parseCells(text: string, dtype = ""): Tensor & { kind: Kind; dtype: string | null } {
  if (text.length > MOST_SIGNS) throw new ParseError(`The text is too long: at most ${MOST_SIGNS} signs are read`);
  if (text.trim() === "" && dtype !== "string") throw new ParseError("There is no value here");
  const read = readText(text, dtype === "string");
  if (read.shape.length > MOST_AXES) throw new ParseError(`A tensor has at most ${MOST_AXES} axes`);
  return unified(read, text);
}

/** Whether a text has brackets of its own, so that its shape is not up to lines and columns. */
export function hasBrackets(text: string): boolean {
  return /^\s*(?:[[({<'"]|[A-Za-z_][\w.]*\(|[bu]['"])/.test(text);
}

function readText(text: string, asText: boolean): Read {
  // A cell that a spreadsheet put in quotes, beside others.
  const cells = asText && /^\s*"/.test(text) && text.includes("\t");
  return hasBrackets(text) && !cells ? new Scanner(text, asText).read() : readDelimited(text, asText);
}

/** All elements of one kind: beside a complex number all are complex; text or bools beside numbers are refused. */
function unified(read: Read, text: string): Tensor & { kind: Kind; dtype: string | null } {
  const { shape, dtype } = read;
  let complex = 0;
  let bools = 0;
  let texts = 0;
  let fractions = 0;
  for (const cell of read.cells) {
    if (typeof cell === "number") {
      if (!Number.isInteger(cell)) fractions += 1;
    } else if (typeof cell === "boolean") bools += 1;
    else if (isComplex(cell)) complex += 1;
    else if (isOddWord(cell)) fractions += 1;
    else if (!/^-?\d{16,20}$/.test(cell)) texts += 1;
  }
  const count = read.cells.length;
  if (kindOf(dtype) === "string") return { cells: read.cells.map(asWord), shape, kind: "string", dtype };
  if (texts > 0) {
    if (complex + bools > 0 || read.cells.some((cell) => typeof cell === "number")) {
      throw new ParseError("Text stands beside numbers; a tensor holds one kind of value", text, 0);
    }
    return { cells: read.cells, shape, kind: "string", dtype };
  }
  if (bools > 0) {
    if (bools < count) throw new ParseError("True or False stands beside numbers; a tensor holds one kind", text, 0);
    return { cells: read.cells, shape, kind: "bool", dtype };
  }
  if (complex === 0) {
    const kind = kindOf(dtype) || (fractions > 0 || /[.eE]/.test(text) ? "float" : "integer");
    return { cells: kind === "complex" ? read.cells.map(asComplex) : read.cells, shape, kind, dtype };
  }
  return { cells: read.cells.map(asComplex), shape, kind: "complex", dtype };
}

function asComplex(cell: Cell): Cell {
  return isComplex(cell) ? cell : [cell as Real, 0];
}

function asWord(cell: Cell): Cell {
  return typeof cell === "string" ? cell : typeof cell === "boolean" ? (cell ? "True" : "False") : String(cell);
}
