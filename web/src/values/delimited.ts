import type { Cell } from "./cells";
import { ordinal, ParseError, values } from "./errors";
import { readCell } from "./numbers";
import { type Read, whyNot } from "./scan";

type Piece = { text: string; at: number };

/**
 * Reads cells without brackets: what a spreadsheet copies (tabs), comma separated values, or words with spaces between.
 *
 * One line, and one column, is a vector; several lines with several columns are a matrix.
 */
export function readDelimited(text: string, asText: boolean): Read {
  const rows = rowsOf(text);
  const width = (rows[0] as Piece[]).length;
  const cells: Cell[] = [];
  for (const [row, pieces] of rows.entries()) {
    if (pieces.length !== width) {
      const at = (pieces[0] as Piece).at;
      const sentence = `The ${ordinal(row + 1)} row has ${values(pieces.length)}, the ones before it have ${width}`;
      throw new ParseError(sentence, text, at);
    }
    for (const piece of pieces) cells.push(asText ? unquoted(piece.text) : element(piece, text));
  }
  const alone = rows.length === 1 && width === 1 && !/[\t,\n]/.test(text.trim());
  const shape = alone ? [] : rows.length === 1 || width === 1 ? [cells.length] : [rows.length, width];
  return { cells, shape, dtype: asText ? "string" : null };
}

/** Rows of cells as text, without asking what is in them; for pasting into a range. */
export function piecesOf(text: string): string[][] {
  return rowsOf(text).map((row) => row.map((piece) => unquoted(piece.text)));
}

function rowsOf(text: string): Piece[][] {
  const lines: Piece[] = [];
  let at = 0;
  for (const line of text.split(/\n/)) {
    lines.push({ text: line.replace(/\r$/, ""), at });
    at += line.length + 1;
  }
  while (lines.length > 1 && (lines.at(-1) as Piece).text.trim() === "") lines.pop();
  while (lines.length > 1 && (lines[0] as Piece).text.trim() === "") lines.shift();
  const divider = dividerOf(text);
  return lines.map((line) => split(line, divider));
}

function dividerOf(text: string): RegExp {
  if (text.includes("\t")) return /\t/g;
  if (text.includes(",")) return /,/g;
  return text.includes(";") ? /;/g : / +/g;
}

function split(line: Piece, divider: RegExp): Piece[] {
  const pieces: Piece[] = [];
  const bySpace = divider.source === " +";
  const text = bySpace ? line.text.trimEnd() : line.text;
  let start = bySpace ? text.length - text.trimStart().length : 0;
  divider.lastIndex = start;
  for (let found = divider.exec(text); found !== null; found = divider.exec(text)) {
    pieces.push({ text: text.slice(start, found.index), at: line.at + start });
    start = found.index + found[0].length;
  }
  pieces.push({ text: text.slice(start), at: line.at + start });
  return pieces;
}

function element(piece: Piece, text: string): Cell {
  const word = unquoted(piece.text).trim();
  const cell = word === "" ? null : readCell(word);
  if (cell !== null) return cell;
  throw new ParseError(word === "" ? "A value is missing" : whyNot(word), text, piece.at);
}

/** Spreadsheets put a cell in quotes where it holds a quote, and double that. */
function unquoted(text: string): string {
  const bare = text.trim();
  return bare.length > 1 && bare.startsWith('"') && bare.endsWith('"') ? bare.slice(1, -1).replaceAll('""', '"') : text;
}
