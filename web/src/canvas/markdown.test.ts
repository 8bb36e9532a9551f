import { describe, expect, it } from "vitest";
import { formulaOf, inlineOf, linesOf } from "./markdown";

describe("notes in Markdown", () => {
  it("tells headings, items and paragraphs apart", () => {
    const kinds = linesOf("# Mean\nOne line\nand the next.\n\n- a\n- b\n").map((line) => line.kind);
    expect(kinds).toEqual(["heading", "text", "item", "item"]);
  });
  it("finds what is strong, code, and a way to a row", () => {
    const parts = inlineOf("**See** `ids`, then [row 2](#table.2).");
    expect(parts.map((part) => part.kind)).toEqual(["bold", "text", "code", "text", "link", "text"]);
    expect(parts[4]).toEqual({ kind: "link", text: "row 2", to: "table.2" });
  });
  it("sets formulas with signs, and parts of them lower or higher", () => {
    expect(formulaOf("\\partial L / \\partial w_{ij} = x^2")).toEqual([
      { kind: "text", text: "∂L / ∂w" },
      { kind: "low", text: "ij" },
      { kind: "text", text: " = x" },
      { kind: "high", text: "2" },
    ]);
  });
  it("leaves markup as the text that it is", () => {
    expect(linesOf("<img src=x onerror=alert(1)>")).toEqual([
      { kind: "text", parts: [{ kind: "text", text: "<img src=x onerror=alert(1)>" }] },
    ]);
  });
});
