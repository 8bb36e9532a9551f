import type { Cell } from "./cells";
import { MOST_AXES, sizeOf } from "./cells";
import { dtypeNamed } from "./dtypes";
import { ordinal, ParseError, shown, values } from "./errors";
import { overflows, readCell } from "./numbers";

/** Elements as they were read, with what the text itself says about their dtype. */
export type Read = { cells: Cell[]; shape: number[]; dtype: string | null };

const CLOSING: Record<string, string> = { "[": "]", "(": ")", "{": "}" };
const SPACE = /[\s ﻿]*/y;
const WORD = /[^\s ,;:=[\](){}<>'"]+/y;
const NAME = /[A-Za-z_][\w.]*/y;
const ALONE = /\(\s*([^\s(),[\]{}'"]+)\s*\)/y;
const ESCAPES: Record<string, string> = { n: "\n", t: "\t", r: "\r", "0": "\0", a: "\x07", b: "\b", f: "\f", v: "\v" };

/**
 * Reads nested brackets: Python lists and tuples, what NumPy prints, `array([...], dtype=float32)`, `{{1,2},{3,4}}`.
 *
 * Elements are divided by commas, by white space or by both.
 */
export class Scanner {
  private at = 0;
  private readonly cells: Cell[] = [];
  private readonly lengths: (number | undefined)[] = [];
  /** The depth at which elements stand, once it is known. */
  private leafDepth: number | null = null;
  private dtype: string | null = null;
  private shape: number[] | null = null;

  constructor(
    private readonly text: string,
    /** Whether words without quotes are text. */
    private readonly bareText: boolean,
  ) {}

  read(): Read {
    this.value(0);
    this.skip();
    if (this.text[this.at] === ">") this.at += 1;
    this.skip();
    if (this.at < this.text.length) {
      throw this.error(`The tensor ends before ${shown(this.text.slice(this.at, this.at + 16))}`);
    }
    const read = this.lengths.map((length) => length ?? 0);
    const shape = this.shape ?? read;
    if (sizeOf(shape) !== this.cells.length) {
      throw this.error(`The text says the shape [${shape.join(", ")}], but it holds ${this.cells.length} values`, 0);
    }
    return { cells: this.cells, shape, dtype: this.dtype };
  }

  // ------------------------------------------------------------------ values
  private value(depth: number): void {
    this.skip();
    const sign = this.text[this.at];
    if (sign === undefined) throw this.error(depth === 0 ? "There is no value here" : "The text ends inside a list");
    if (sign === "(" && this.match(ALONE, false)) {
      // Python writes complex numbers as (1+2j): brackets around one number are no list.
      this.leaf(depth, this.element(this.match(ALONE, true) as string, this.at));
    } else if (sign in CLOSING) {
      this.list(depth, CLOSING[sign] as string);
    } else if (sign === "'" || sign === '"') {
      this.leaf(depth, this.quote(sign));
    } else if (sign === "<") {
      this.shownTensor(depth);
    } else {
      this.word(depth);
    }
  }

  private list(depth: number, closing: string): void {
    const start = this.at;
    if (depth >= MOST_AXES) throw this.error(`More than ${MOST_AXES} lists stand inside each other`);
    if (this.leafDepth !== null && depth >= this.leafDepth) throw this.error("A list stands beside single values");
    this.at += 1;
    let count = 0;
    for (;;) {
      this.skip();
      const sign = this.text[this.at];
      if (sign === closing) break;
      if (sign === undefined) throw this.error(`This list is never closed with ${closing}`, start);
      if (sign === "]" || sign === ")" || sign === "}") throw this.error(`${sign} stands where ${closing} should`);
      if (sign === ",") {
        if (count === 0) throw this.error("A value is missing before the comma");
        this.at += 1;
        this.skip();
        if (this.text[this.at] === ",") throw this.error("A value is missing between two commas");
        continue;
      }
      this.value(depth + 1);
      count += 1;
    }
    this.at += 1;
    const wanted = this.lengths[depth];
    if (wanted === undefined) {
      this.lengths[depth] = count;
    } else if (wanted !== count) {
      const which = depth === 1 ? `The ${ordinal(this.rowOf(start))} row` : "This list";
      throw this.error(`${which} has ${values(count)}, the ones before it have ${wanted}`, start);
    }
  }

  /** Which row of the outermost list begins here, counted from 1. */
  private rowOf(start: number): number {
    let row = 0;
    let depth = 0;
    for (let at = 0; at <= start; at += 1) {
      const sign = this.text[at] as string;
      if (sign in CLOSING) {
        depth += 1;
        if (depth === 2) row += 1;
      } else if (sign === "]" || sign === ")" || sign === "}") {
        depth -= 1;
      }
    }
    return Math.max(row, 1);
  }

  private leaf(depth: number, cell: Cell): void {
    if (this.leafDepth === null) {
      if (this.lengths.length > depth) throw this.error("A single value stands beside a list");
      this.leafDepth = depth;
    } else if (this.leafDepth !== depth) {
      throw this.error("A single value stands beside a list");
    }
    this.cells.push(cell);
  }

  private word(depth: number): void {
    const start = this.at;
    const word = this.match(WORD, true);
    if (word === null) throw this.error(`${shown(this.text[this.at] as string)} is no value`);
    const next = this.text[this.at];
    if (next === "(" && /^[A-Za-z_][\w.]*$/.test(word)) {
      this.call(depth, word, start);
    } else if ((next === "'" || next === '"') && /^[bBuUrR]{1,2}$/.test(word)) {
      this.leaf(depth, this.quote(next));
    } else {
      this.leaf(depth, this.element(word, start));
    }
  }

  private element(word: string, start: number): Cell {
    if (this.bareText) return word;
    const bare = word.replace(/^([+-]?)(?:np|numpy|math|float|torch|tf)\./, "$1");
    const cell = readCell(bare);
    if (cell !== null) return cell;
    throw this.error(whyNot(word), start);
  }

  private quote(sign: string): string {
    const start = this.at;
    let made = "";
    let at = start + 1;
    for (;;) {
      const next = this.text[at];
      if (next === undefined || next === "\n") throw this.error("This text is never closed with a quote", start);
      if (next === sign) break;
      if (next !== "\\") {
        made += next;
        at += 1;
        continue;
      }
      const kind = this.text[at + 1] ?? "";
      const digits = { x: 2, u: 4, U: 8 }[kind];
      if (digits === undefined) {
        made += ESCAPES[kind] ?? kind;
        at += 2;
        continue;
      }
      const code = Number.parseInt(this.text.slice(at + 2, at + 2 + digits), 16);
      if (!(code <= 0x10ffff)) throw this.error(`\\${kind} wants ${digits} hexadecimal digits`, at);
      made += String.fromCodePoint(code);
      at += 2 + digits;
    }
    this.at = at + 1;
    return made;
  }

  // ------------------------------------------------------------------ what libraries print around the lists
  private call(depth: number, name: string, start: number): void {
    this.at += 1;
    this.value(depth);
    for (;;) {
      this.skip();
      const sign = this.text[this.at];
      if (sign === ")") break;
      if (sign !== ",") throw this.error(`${shown(name)} is never closed with )`, start);
      this.at += 1;
      this.skip();
      if (this.text[this.at] !== ")") this.keyword();
    }
    this.at += 1;
    if (this.text.startsWith(".reshape", this.at)) {
      this.at += ".reshape".length;
      this.shape = this.sizes();
    }
  }

  /** `<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>` */
  private shownTensor(depth: number): void {
    const inside = this.text.indexOf("numpy=", this.at);
    if (inside < 0) throw this.error("The values of this object are not in its text");
    this.at = inside + "numpy=".length;
    this.value(depth);
  }

  private keyword(): void {
    const start = this.at;
    const name = this.match(NAME, true);
    this.skip();
    if (name === null || this.text[this.at] !== "=")
      throw this.error("Only dtype and shape may follow the lists", start);
    this.at += 1;
    this.skip();
    if (name === "shape") {
      this.shape = this.sizes();
    } else if (name === "dtype") {
      const sign = this.text[this.at];
      const written = sign === "'" || sign === '"' ? this.quote(sign) : (this.match(NAME, true) ?? "");
      this.dtype = dtypeNamed(written);
    } else {
      throw this.error(`${shown(name)} says nothing about a tensor; only dtype and shape do`, start);
    }
  }

  private sizes(): number[] {
    const start = this.at;
    const end = this.text.slice(start).search(/[\])]/);
    const inside = end < 0 ? "" : this.text.slice(start, start + end + 1);
    if (!/^[[(]\s*(?:\d{1,9}\s*(?:,\s*\d{1,9}\s*)*,?\s*)?[\])]$/.test(inside)) {
      throw this.error("A shape is a list of lengths, as in (2, 3)", start);
    }
    this.at = start + inside.length;
    return (inside.match(/\d+/g) ?? []).map(Number);
  }

  // ------------------------------------------------------------------ signs
  private skip(): void {
    // By far the most often there is one space or none.
    const code = this.text.charCodeAt(this.at);
    if (code > 32 && code < 128) return;
    SPACE.lastIndex = this.at;
    SPACE.test(this.text);
    this.at = SPACE.lastIndex;
  }

  private match(pattern: RegExp, take: boolean): string | null {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return null;
    if (take) this.at = pattern.lastIndex;
    return found[1] ?? found[0];
  }

  private error(sentence: string, at = this.at): ParseError {
    return new ParseError(sentence, this.text, at);
  }
}

/** Why a word is no element, in a sentence that says what to write. */
export function whyNot(word: string): string {
  if (/^(?:none|null|na|n\/a)$/i.test(word))
    return `${shown(word)} is no value; write nan for a number that is missing`;
  if (/^(?:\.\.\.|…)$/.test(word))
    return "NumPy left values out here; print with np.set_printoptions(threshold=np.inf)";
  if (word.startsWith("#")) return `${shown(word)} is an error of the spreadsheet, no value`;
  if (/^[+-]?\d+,\d+$/.test(word)) return `${shown(word)} is no number; write ${word.replace(",", ".")} with a point`;
  if (overflows(word)) return `${shown(word)} is larger than any float64`;
  if (/^0[xob]/i.test(word)) return `${shown(word)} is not decimal; write the number with digits 0 to 9`;
  return `${shown(word)} is no number`;
}
