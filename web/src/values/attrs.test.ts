import { describe, expect, it } from "vitest";
import type { AttrKind } from "../api/types";
import { attrText, parseAttr } from "./attrs";

describe("attributes as text", () => {
  it.each<[AttrKind, unknown, string]>([
    ["int", 3, "3"],
    ["int", "9007199254740993", "9007199254740993"],
    ["float", 0.5, "0.5"],
    ["float", "nan", "nan"],
    ["string", "sum", "sum"],
    ["string", "", ""],
    ["type", "float32", "float32"],
    ["shape", [2, null], "[2, ?]"],
    ["shape", [], "[]"],
    ["shape", null, "unknown"],
    ["ints", [1, -2], "[1, -2]"],
    ["tensor", [[1, 2]], "[[1, 2]]"],
  ])("%s %j reads back", (kind, value, text) => {
    expect(attrText(kind, value)).toBe(text);
    expect(parseAttr(kind, text)).toEqual(value);
  });

  it.each<[AttrKind, string, string]>([
    ["int", "1.5", "A whole number is wanted here, as 3"],
    ["int", "", "A whole number is wanted here, as 3"],
    ["float", "abc", "A number is wanted here, as 0.5"],
    ["ints", "1, x", "“x” is no whole number; write them as 1, 2, 3"],
    ["shape", "2, x", "“x” is no length; write 2, 3 or ? for one that is not known"],
    ["bool", "2", "True or False is wanted here"],
  ])("%s refuses %j", (kind, text, sentence) => {
    expect(() => parseAttr(kind, text)).toThrow(sentence);
  });

  it.each([[[1, "a"]], [{ k: true }], ["a word"]])("of no known kind: %j reads back", (value) => {
    expect(parseAttr(undefined, attrText(undefined, value))).toEqual(value);
  });

  it("has no text for what is not set", () => {
    expect(attrText("int", undefined)).toBe("");
  });
});
