import { describe, expect, it } from "vitest";
import { dedented, piecesOf } from "./marks";

describe("help text", () => {
  it("has code between backticks", () => {
    expect(piecesOf("add `x` and `y`.").map(({ code, text }) => [code, text])).toEqual([
      [false, "add "],
      [true, "x"],
      [false, " and "],
      [true, "y"],
      [false, "."],
    ]);
    expect(piecesOf("a lone ` stays")).toEqual([{ code: false, text: "a lone ` stays", at: 0 }]);
    expect(piecesOf("<img src=x onerror=alert(1)>")).toHaveLength(1);
    expect(piecesOf("")).toEqual([]);
  });

  it("loses the indent that all lines of a formula share", () => {
    expect(dedented("    a = b\n      + c\n")).toBe("a = b\n  + c");
    expect(dedented("")).toBe("");
  });
});
