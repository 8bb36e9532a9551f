import { flattened, nested, shapeText, sizeOf, type Tensor } from "./cells";
import { DTYPES, dtypeNamed, fitted, kindOf, misfit } from "./dtypes";
import { ParseError } from "./errors";
import { cellText, quoted } from "./numbers";
import { hasBrackets, parseCells } from "./tensors";

/** A literal as a page file holds it: bare JSON, or an object that says more. */
type Said = { value?: unknown; dtype?: unknown; shape?: unknown; file?: unknown; base64?: unknown };

function isSaid(literal: unknown): literal is Said {
  return typeof literal === "object" && literal !== null && !Array.isArray(literal);
}

/** The dtype that a literal names, or null. */
export function literalDtype(literal: unknown): string | null {
  return isSaid(literal) && typeof literal.dtype === "string" ? literal.dtype : null;
}

/** The elements of a literal, or null where they are not in the page (a data file) or no tensor. */
export function literalTensor(literal: unknown, dtype: string): Tensor | null {
  if (literal === undefined) return null;
  const named = literalDtype(literal) ?? dtype;
  const value = isSaid(literal) ? literal.value : literal;
  if (value === undefined) return null;
  const tensor = flattened(value, kindOf(named) === "complex");
  const shape = isSaid(literal) ? literal.shape : undefined;
  if (tensor === null || !isShape(shape)) return tensor;
  if (sizeOf(shape) === tensor.cells.length) return { shape, cells: tensor.cells };
  return tensor.cells.length === 1 && sizeOf(shape) <= 100_000
    ? { shape, cells: new Array(sizeOf(shape)).fill(tensor.cells[0]) }
    : tensor;
}

function isShape(shape: unknown): shape is number[] {
  return Array.isArray(shape) && shape.every((length) => Number.isSafeInteger(length) && length >= 0);
}

/** The literal that holds a tensor; `dtype` is written only where it is given. */
export function tensorLiteral(tensor: Tensor, dtype?: string): unknown {
  const value = nested(tensor.cells, tensor.shape);
  const hidden = tensor.cells.length === 0 && tensor.shape.length > 1; // nested lists lose what follows a length of 0
  if (dtype === undefined && !hidden) return value;
  return { value: hidden ? [] : value, ...(hidden ? { shape: tensor.shape } : {}), ...(dtype ? { dtype } : {}) };
}

// ------------------------------------------------------------------ one line of text
/** A literal in one line, for a port's field; `parseLiteral` reads it back to the same literal. */
export function literalText(literal: unknown, dtype = ""): string {
  if (!isSaid(literal)) return valueText(literal, dtype);
  if (typeof literal.file === "string") return `file ${literal.file}`;
  const named = literalDtype(literal);
  const base =
    "base64" in literal ? `base64 ${JSON.stringify(literal.base64)}` : valueText(literal.value, named ?? dtype, true);
  const shape = isShape(literal.shape) ? ` shape ${shapeText(literal.shape)}` : "";
  return `${base}${named === null ? "" : ` ${named}`}${shape}`;
}

function valueText(value: unknown, dtype: string, always = false): string {
  if (value === undefined) return "";
  const kind = kindOf(dtype);
  const tensor = kind === "complex" ? flattened(value, true) : null;
  if (tensor !== null) return listText(nested(tensor.cells.map(cellText), tensor.shape));
  if (typeof value === "string" && kind === "string") return isPlainWord(value) && !always ? value : quoted(value);
  return listText(asTexts(value, kind === "string"));
}

function asTexts(value: unknown, allQuoted: boolean): unknown {
  if (Array.isArray(value)) return value.map((one) => asTexts(one, allQuoted));
  if (typeof value === "string" && allQuoted) return quoted(value);
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "string") return cellText(value);
  return JSON.stringify(value) ?? "";
}

function listText(texts: unknown): string {
  return Array.isArray(texts) ? `[${texts.map(listText).join(", ")}]` : String(texts);
}

/** Whether text reads back as itself without quotes. */
function isPlainWord(text: string): boolean {
  return (
    text !== "" &&
    text === text.trim() &&
    !/[\t\n\r]/.test(text) &&
    !hasBrackets(text) &&
    !/^(?:file|base64) /.test(text)
  );
}

const SHAPE = String.raw`shape\s*(\[[\d, ]*\])`;
const ENDING = new RegExp(`\\s(?:(${DTYPES.join("|")})(?:\\s+${SHAPE})?|${SHAPE})$`);

/** The literal that a line of text writes for a port of a dtype ("" where the value decides). */
export function parseLiteral(text: string, dtype: string): unknown {
  const line = text.trim();
  const file = /^file\s+(\S.*\.npy)$/.exec(line);
  if (file) return { file: file[1] };
  const isText = kindOf(dtype) === "string";
  const ending = isText && !hasBrackets(line) && !line.startsWith("base64 ") ? null : ENDING.exec(line.slice(-300));
  const named = ending?.[1] ?? null;
  const sizes = ending?.[2] ?? ending?.[3];
  const shape = sizes === undefined ? null : (sizes.match(/\d+/g) ?? []).map(Number);
  const body = ending ? line.slice(0, -ending[0].length).trimEnd() : line;
  if (body.startsWith("base64 ")) return { base64: parsedBase64(body), ...said(named, shape) };
  if (isText && named === null && !hasBrackets(line)) return line;
  const read = readValue(body, named ?? dtype);
  const explicit = named ?? (kindOf(dtype) === "" ? read.named : null);
  if (shape !== null) {
    const matches = sizeOf(shape) === read.tensor.cells.length || read.tensor.cells.length === 1;
    if (!matches)
      throw new ParseError(`The shape ${shapeText(shape)} does not hold ${read.tensor.cells.length} values`);
    return { value: nested(read.tensor.cells, read.tensor.shape), ...said(explicit, shape) };
  }
  return tensorLiteral(read.tensor, explicit ?? undefined);
}

/** The same for a port, where no text is no literal.
 *
 * `usual` is what the port has now. Where the op would take another dtype (`only` is ""), a value that does not fit it
 * may have one of its own: what stands in the port is no reason to refuse what shall stand there.
 */
export function parseArgument(text: string, usual: string, only = usual): unknown {
  if (text.trim() === "") return undefined;
  try {
    return parseLiteral(text, usual);
  } catch (problem) {
    if (only || !usual) throw problem;
    return parseLiteral(text, "");
  }
}

function said(dtype: string | null, shape: number[] | null): object {
  return { ...(dtype === null ? {} : { dtype }), ...(shape === null ? {} : { shape }) };
}

function readValue(text: string, dtype: string): { tensor: Tensor; named: string | null } {
  const read = parseCells(text, dtype);
  const kind = kindOf(dtype);
  let tensor: Tensor = { shape: read.shape, cells: read.cells };
  if (kind === "complex" && read.kind !== "complex") {
    // Without a j, lists of two are what a page file writes: [re, im].
    tensor = pairs(tensor) ?? tensor;
  }
  const cells = tensor.cells.map((cell) => fitted(cell, dtype));
  for (const cell of cells) {
    const why = misfit(cell, dtype);
    if (why !== "") throw new ParseError(`${why.charAt(0).toUpperCase()}${why.slice(1)}`);
  }
  // Where the value decides its dtype, [re, im] alone would be two real numbers.
  const complex = read.kind === "complex" ? "complex128" : null;
  return { tensor: { shape: tensor.shape, cells }, named: read.dtype === null ? complex : dtypeNamed(read.dtype) };
}

function pairs(tensor: Tensor): Tensor | null {
  const made = flattened(nested(tensor.cells, tensor.shape), true);
  return tensor.shape.at(-1) === 2 ? made : null;
}

function parsedBase64(text: string): unknown {
  try {
    return JSON.parse(text.slice("base64 ".length));
  } catch {
    throw new ParseError('After base64 stands JSON text, as in base64 ["aGk="]');
  }
}
