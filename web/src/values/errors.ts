/** Text that is no tensor: a sentence that says why, and where in the text. */
export class ParseError extends Error {
  readonly position: number;
  readonly line: number;
  readonly column: number;

  constructor(sentence: string, text = "", position = 0) {
    const before = text.slice(0, position);
    const line = before.split("\n").length;
    const column = position - (before.lastIndexOf("\n") + 1) + 1;
    const place = text.includes("\n") ? `line ${line}, column ${column}` : `column ${column}`;
    super(text === "" ? sentence : `${sentence} (${place})`);
    this.name = "ParseError";
    this.position = position;
    this.line = line;
    this.column = column;
  }
}

/** A piece of text as it is quoted in a sentence. */
export function shown(text: string, most = 32): string {
  const short = text.length > most ? `${text.slice(0, most - 1)}…` : text;
  return `“${short}”`;
}

/** "1st", "2nd", "13th". */
export function ordinal(number: number): string {
  const ending = { one: "st", two: "nd", few: "rd", other: "th" } as Record<string, string>;
  return `${number}${ending[ORDER.select(number)]}`;
}

const ORDER = new Intl.PluralRules("en", { type: "ordinal" });

export function values(count: number): string {
  return count === 1 ? "1 value" : `${count} values`;
}
