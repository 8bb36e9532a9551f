import { type Cell, isOddWord, type Real } from "./cells";

// One spelling of a decimal number, as Python and spreadsheets write it ("1.", ".5", "1e-3", "1_000").
const DECIMAL = String.raw`(?:\d+(?:_\d+)*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`;
const WORD = "nan|inf|infinity";
const REAL = new RegExp(`^[+-]?(?:${DECIMAL}|${WORD})$`, "i");
const COMPLEX = new RegExp(`^([+-]?(?:${DECIMAL}|${WORD})(?![\\d.]))?([+-]?(?:${DECIMAL}|${WORD})?)[jJ]$`, "i");
const SHORT = /^-?\d{1,15}(?:\.\d*)?$/; // by far the most
const WHOLE = /^[+-]?\d+$/;
const LONGEST = 1200; // signs; the longest decimal of a double has fewer

/** The element that a word writes, or null if it is neither a number nor a bool. */
export function readCell(word: string): Cell | null {
  if (SHORT.test(word)) return word === "-0" ? 0 : Number(word);
  if (word.length > LONGEST) return null;
  const plain = word.replaceAll("−", "-");
  if (REAL.test(plain)) return readReal(plain);
  if (/^true$/i.test(plain)) return true;
  if (/^false$/i.test(plain)) return false;
  const parts = COMPLEX.exec(plain);
  if (parts === null) return null;
  const [, re, im] = parts as unknown as [string, string | undefined, string];
  // Without a sign between them, what stands before the j is the imaginary part alone.
  if (re !== undefined && im !== "" && !/^[+-]/.test(im)) return null;
  if (re !== undefined && im === "") return pair(0, readReal(re));
  return pair(
    re === undefined ? 0 : readReal(re),
    im === "" || im === "+" || im === "-" ? Number(`${im}1`) : readReal(im),
  );
}

function pair(re: Real | null, im: Real | null): Cell | null {
  return re === null || im === null ? null : [re, im];
}

/** A real number as a page file writes it; null if no double is as large. */
function readReal(text: string): Real | null {
  const lower = text.toLowerCase().replace(/^\+/, "");
  if (lower.includes("n")) {
    if (lower.endsWith("nan")) return "nan";
    return lower.startsWith("-") ? "-inf" : "inf";
  }
  const digits = lower.replaceAll("_", "");
  const number = Number(digits);
  if (WHOLE.test(digits) && !Number.isSafeInteger(number) && digits.length < 21) return BigInt(digits).toString();
  if (!Number.isFinite(number)) return null;
  return WHOLE.test(digits) && number === 0 ? 0 : number;
}

/** Whether a word is a number that is too large for a double. */
export function overflows(word: string): boolean {
  return REAL.test(word) && readCell(word) === null;
}

/** The shortest text that reads back to the same real number. */
export function realText(real: Real): string {
  if (typeof real === "string") return real;
  if (Object.is(real, -0)) return "-0.0";
  // Digits alone would read back as an integer that is kept as a string.
  if (Number.isInteger(real) && !Number.isSafeInteger(real) && Math.abs(real) < 1e21) return `${real}.0`;
  return Number.isFinite(real) ? String(real) : Number.isNaN(real) ? "nan" : real > 0 ? "inf" : "-inf";
}

/** The text of an element that reads back equal; text stands in quotes. */
export function cellText(cell: Cell): string {
  if (typeof cell === "boolean") return cell ? "True" : "False";
  if (typeof cell === "number") return realText(cell);
  if (typeof cell === "string") return isNumberWord(cell) ? cell : quoted(cell);
  return complexText(realText(cell[0]), realText(cell[1]));
}

export function complexText(re: string, im: string): string {
  return `${re}${/^[+-]/.test(im) ? im : `+${im}`}j`;
}

/** Whether a string stands for a number that JSON cannot write. */
export function isNumberWord(text: string): boolean {
  return isOddWord(text) || (/^-?[1-9]\d{15,19}$/.test(text) && !Number.isSafeInteger(Number(text)));
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}
