import { type Cell, flattened, isComplex, type Real, sizeOf } from "./cells";
import { kindOf } from "./dtypes";
import { complexText, quoted, realText } from "./numbers";

// Digits that are shown: enough to tell neighbours apart, never more than the dtype has.
const DIGITS: Record<string, number> = { float16: 4, bfloat16: 3, float32: 6, float64: 6, complex64: 4, complex128: 4 };

/** An element, short, for reading: `most` digits, "1e-7" for the very small, text as it is. */
export function formatNumber(cell: unknown, dtype: string, most = 6): string {
  if (typeof cell === "boolean") return cell ? "True" : "False";
  if (typeof cell === "string") return cell;
  if (isComplex(cell)) return complexText(formatNumber(cell[0], dtype, most), formatNumber(cell[1], dtype, most));
  if (typeof cell !== "number") return cell === null || cell === undefined ? "" : String(cell);
  if (kindOf(dtype) === "integer" || !Number.isFinite(cell)) return realText(cell);
  return shortReal(cell, Math.min(most, DIGITS[dtype] ?? 6));
}

function shortReal(number: number, digits: number): string {
  if (Number.isInteger(number) && Math.abs(number) < 1e7) return Object.is(number, -0) ? "-0" : String(number);
  const size = Math.abs(number);
  if (size >= 1e7 || size < 1e-4) {
    const [front, power] = number.toExponential(Math.min(digits, 4) - 1).split("e") as [string, string];
    return `${trimmed(front)}e${power.replace("+", "")}`;
  }
  return trimmed(number.toPrecision(digits));
}

function trimmed(text: string): string {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** The elements of a column with their points below each other: the same number of decimals for all, where that is short. */
export function formatColumn(cells: readonly unknown[], dtype: string, digits = 6): string[] {
  const texts = cells.map((cell) => formatNumber(cell, dtype, digits));
  if (kindOf(dtype) !== "float") return texts;
  const decimals = texts.map((text) => (/^-?\d+(?:\.\d+)?$/.test(text) ? (text.split(".")[1]?.length ?? 0) : 0));
  const most = Math.max(0, ...decimals);
  if (most === 0 || most > 6) return texts;
  return texts.map((text) => {
    if (!/^-?\d+(?:\.\d+)?$/.test(text)) return text;
    const missing = most - (text.split(".")[1]?.length ?? 0);
    // Figure spaces are as wide as a digit: the points line up, and no digit is invented.
    return missing === 0 ? text : `${text}${text.includes(".") ? "" : " "}${" ".repeat(missing)}`;
  });
}

// ------------------------------------------------------------------ for Python
const QUOTED = ["bfloat16", "qint8", "quint8", "qint32"];

/** A tensor as Python text that NumPy reads back to the same values; `shape` is needed where there are none. */
export function toNumPyText(value: unknown, dtype: string, shape?: readonly number[]): string {
  const complex = kindOf(dtype) === "complex";
  const tensor = flattened(value, complex);
  if (tensor === null) return JSON.stringify(value);
  const named = numPyDtype(dtype);
  const ending = named === "" ? ")" : `, dtype=${named})`;
  const sizes = shape ?? tensor.shape;
  if (sizeOf(sizes) === 0 && sizes.length > 1) return `np.array([]${ending}.reshape(${sizes.join(", ")})`;
  return `np.array(${listed(tensor.cells, sizes, 0, 0)}${ending}`;
}

function numPyDtype(dtype: string): string {
  if (dtype === "string") return "object";
  if (QUOTED.includes(dtype)) return `"${dtype}"`;
  if (dtype === "bool") return "bool";
  return kindOf(dtype) === "" ? "" : `np.${dtype}`;
}

function listed(cells: readonly Cell[], shape: readonly number[], axis: number, start: number): string {
  if (axis === shape.length) return pythonCell(cells[start] as Cell);
  const step = sizeOf(shape.slice(axis + 1));
  const parts: string[] = [];
  for (let at = 0; at < (shape[axis] as number); at += 1) parts.push(listed(cells, shape, axis + 1, start + at * step));
  return `[${parts.join(", ")}]`;
}

function pythonCell(cell: Cell): string {
  if (typeof cell === "boolean") return cell ? "True" : "False";
  if (isComplex(cell)) {
    // Python has no literal for a NaN or an infinity in a complex number.
    const odd = cell.some((part) => typeof part === "string" && /[a-z]/.test(part));
    return odd
      ? `complex(${cell.map((part) => `"${realText(part)}"`).join(", ")})`
      : complexText(realText(cell[0]), realText(cell[1]));
  }
  if (typeof cell === "string") return pythonWord(cell);
  return realText(cell as Real).replace(/^(-?)(nan|inf)$/, "$1np.$2");
}

function pythonWord(word: string): string {
  if (word === "nan" || word === "inf") return `np.${word}`;
  if (word === "-inf") return "-np.inf";
  return /^-?\d{16,20}$/.test(word) ? word : quoted(word);
}
