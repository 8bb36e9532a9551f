import { type Cell, isComplex, isOddWord, type Real } from "./cells";
import { shown } from "./errors";
import { cellText, complexText } from "./numbers";

/** What a dtype's elements are made of; "" for a dtype that is not known yet. */
export type Kind = "float" | "integer" | "bool" | "string" | "complex" | "";

const FLOATS = ["float16", "bfloat16", "float32", "float64"];
const COMPLEX = ["complex64", "complex128"];
const LIMITS: Record<string, readonly [string, string]> = {
  int8: ["-128", "127"],
  int16: ["-32768", "32767"],
  int32: ["-2147483648", "2147483647"],
  int64: ["-9223372036854775808", "9223372036854775807"],
  uint8: ["0", "255"],
  uint16: ["0", "65535"],
  uint32: ["0", "4294967295"],
  uint64: ["0", "18446744073709551615"],
  qint8: ["-128", "127"],
  quint8: ["0", "255"],
  qint32: ["-2147483648", "2147483647"],
};
const LARGEST: Record<string, number> = {
  float16: 65519.99,
  bfloat16: 3.3961e38,
  float32: 3.4028235677973366e38,
  complex64: 3.4028235677973366e38,
};

export const DTYPES: readonly string[] = [...FLOATS, ...COMPLEX, ...Object.keys(LIMITS), "bool", "string"];

export function kindOf(dtype: string | null | undefined): Kind {
  if (!dtype) return "";
  if (FLOATS.includes(dtype)) return "float";
  if (COMPLEX.includes(dtype)) return "complex";
  if (Object.hasOwn(LIMITS, dtype)) return "integer";
  return dtype === "bool" || dtype === "string" ? dtype : "";
}

/** The class of a dtype's colour. */
export function dtypeClass(dtype: string | null | undefined): string {
  return `dtype-${kindOf(dtype) || "unknown"}`;
}

/** The name of a dtype in NumPy's or another library's spelling, or null. */
export function dtypeNamed(text: string): string | null {
  const bare = text.replace(/^['"]|['"]$/g, "");
  const name = bare.split(".").at(-1) ?? "";
  if (DTYPES.includes(name)) return name;
  if (/^[<>|=]?[US]\d*$/.test(bare) || name === "str" || name === "bytes" || name === "str_") return "string";
  const codes: Record<string, string> = {
    b1: "bool",
    i1: "int8",
    i2: "int16",
    i4: "int32",
    i8: "int64",
    u1: "uint8",
    u2: "uint16",
    u4: "uint32",
    u8: "uint64",
    f2: "float16",
    f4: "float32",
    f8: "float64",
    c8: "complex64",
    c16: "complex128",
    bool_: "bool",
    float: "float64",
    double: "float64",
    half: "float16",
    int: "int64",
    complex: "complex128",
  };
  const code = name.replace(/^[<>|=]/, "");
  return Object.hasOwn(codes, code) ? (codes[code] as string) : null;
}

// ------------------------------------------------------------------ one element
function isDigits(cell: unknown): cell is string {
  return typeof cell === "string" && /^-?\d+$/.test(cell);
}

/** An element as its dtype writes it: 1 where a bool is wanted is True, 2 among complex numbers is [2, 0]. */
export function fitted(cell: Cell, dtype: string): Cell {
  const kind = kindOf(dtype);
  if (kind === "complex" && !isComplex(cell) && typeof cell !== "boolean") return [cell as Real, 0];
  if (kind === "bool" && (cell === 0 || cell === 1)) return cell === 1;
  if (kind === "string" && typeof cell === "number") return String(cell);
  return cell;
}

/** Why an element cannot be of a dtype, in words; "" if it can. */
export function misfit(cell: Cell, dtype: string): string {
  const kind = kindOf(dtype);
  switch (kind) {
    case "":
      return "";
    case "string":
      return typeof cell === "string" ? "" : `${said(cell)} is no text`;
    case "bool":
      return typeof cell === "boolean" ? "" : `${said(cell)} is no bool: write True or False`;
    case "complex": {
      const parts = isComplex(cell) ? cell : [cell as Real];
      if (parts.some((part) => typeof part === "boolean" || !isReal(part))) return `${said(cell)} is no number`;
      return parts.map((part) => tooLarge(part, dtype)).find((text) => text !== "") ?? "";
    }
    default:
      if (isComplex(cell)) return `${said(cell)} is complex; ${dtype} is real`;
      if (typeof cell === "boolean" || !isReal(cell)) return `${said(cell)} is no number`;
      return kind === "float" ? tooLarge(cell, dtype) : outside(cell, dtype);
  }
}

function isReal(cell: unknown): cell is Real {
  return typeof cell === "number" || (typeof cell === "string" && (isOddWord(cell) || isDigits(cell)));
}

function tooLarge(cell: Real, dtype: string): string {
  const most = Object.hasOwn(LARGEST, dtype) ? LARGEST[dtype] : undefined;
  const size = Math.abs(Number(cell));
  return most !== undefined && Number.isFinite(size) && size > most ? `${cell} does not fit ${dtype}` : "";
}

function outside(cell: Real, dtype: string): string {
  if (!isDigits(cell) && !Number.isInteger(cell))
    return `${cell} is not a whole number, and ${dtype} holds whole numbers only`;
  const [least, most] = (LIMITS[dtype] as readonly [string, string]).map(BigInt) as [bigint, bigint];
  const whole = BigInt(cell);
  return whole < least || whole > most ? `${whole} does not fit ${dtype}, which reaches from ${least} to ${most}` : "";
}

function said(cell: Cell): string {
  if (isComplex(cell)) return complexText(String(cell[0]), String(cell[1]));
  return typeof cell === "string" ? shown(cell, 24) : typeof cell === "boolean" ? cellText(cell) : String(cell);
}

/** What an empty cell of a new row holds. */
export function zeroOf(dtype: string): Cell {
  const kind = kindOf(dtype);
  if (kind === "bool") return false;
  if (kind === "string") return "";
  return kind === "complex" ? [0, 0] : 0;
}
