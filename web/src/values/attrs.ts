/** Attributes as texts, by their kind; one that no op knows has none, and is JSON. */
import type { AttrKind } from "../api/types";
import { shapeText } from "./cells";
import { ParseError } from "./errors";
import { literalText, parseLiteral } from "./literals";
import { cellText, readCell } from "./numbers";

export function attrText(kind: AttrKind | undefined, value: unknown): string {
  if (value === undefined) return "";
  switch (kind) {
    case undefined:
    case "string":
    case "type":
      return typeof value === "string" ? value : JSON.stringify(value);
    case "shape":
    case "ints":
    case "floats":
    case "strings":
      return value === null ? "unknown" : Array.isArray(value) ? shapeText(value) : String(value);
    case "tensor":
      return literalText(value);
    default:
      return typeof value === "number" || typeof value === "string"
        ? cellText(value).replace(/^"|"$/g, "")
        : String(value);
  }
}

/** What a text means for an attribute; a ParseError says why it means nothing. */
export function parseAttr(kind: AttrKind | undefined, text: string, dtype = ""): unknown {
  const word = text.trim();
  switch (kind) {
    case "string":
      return text;
    case "type":
      return word;
    case "bool": {
      const read = readCell(word);
      if (typeof read === "boolean") return read;
      throw new ParseError("True or False is wanted here");
    }
    case "int":
      return whole(word, "A whole number is wanted here, as 3");
    case "float": {
      const read = readCell(word);
      if (typeof read === "number" || typeof read === "string") return read;
      throw new ParseError("A number is wanted here, as 0.5");
    }
    case "ints":
      return parts(word).map((part) => whole(part, `“${part}” is no whole number; write them as 1, 2, 3`));
    case "floats":
      return parts(word).map((part) => parseAttr("float", part));
    case "strings":
      return parts(word);
    case "shape":
      if (/^(?:unknown|none|null|)$/i.test(word)) return null;
      return parts(word).map((part) => {
        if (/^(?:\?|-1|none|null)$/i.test(part)) return null;
        if (/^\d+$/.test(part)) return Number(part);
        throw new ParseError(`“${part}” is no length; write 2, 3 or ? for one that is not known`);
      });
    case "tensor":
      return parseLiteral(text, dtype);
    case undefined:
      try {
        return JSON.parse(word);
      } catch {
        return text;
      }
  }
}

function whole(word: string, sentence: string): number | string {
  const read = readCell(word);
  if (typeof read === "number" && Number.isInteger(read)) return read;
  if (typeof read === "string" && /^-?\d+$/.test(read)) return read;
  throw new ParseError(sentence);
}

function parts(text: string): string[] {
  return text
    .replace(/^[[({]|[\])}]$/g, "")
    .split(/[\s,]+/)
    .filter((part) => part !== "");
}
