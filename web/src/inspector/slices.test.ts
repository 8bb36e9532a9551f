import { describe, expect, it } from "vitest";
import { firstAxis, matrixOf, parseSlice, rowIndex, rowOfFirst } from "./slices";

describe("a slice", () => {
  it.each<[string, number[], number[]]>([
    ["", [4, 3], [4, 3]],
    ["1, :", [4, 3], [3]],
    [":, 0", [4, 3], [4]],
    ["1:3", [4, 3], [2, 3]],
    ["-1", [4, 3], [3]],
    ["-2:", [4], [2]],
    ["1, :, 0", [2, 5, 3], [5]],
    ["0, 0", [4, 3], []],
    ["3:1", [4], [0]],
    ["[1, :]", [4, 3], [3]],
    ["0:99", [4], [4]],
  ])("%j of %j has the shape %j", (text, shape, left) => {
    expect(parseSlice(text, shape).shape).toEqual(left);
  });

  it.each([
    ["4", "Axis 0 has 4 entries; there is no 4"],
    ["a", "“a” is no part of a slice; write 1, : or 0:5"],
    ["0, 0, 0", "This value has 2 axes; the slice names 3"],
    ["0:4:2", "“0:4:2” is no part of a slice"],
  ])("%j is refused in words", (text, sentence) => {
    expect(() => parseSlice(text, [4, 3])).toThrow(sentence);
  });

  it("is seen as a matrix", () => {
    expect(matrixOf([2, 3, 4])).toEqual({ rows: 6, columns: 4 });
    expect(matrixOf([5])).toEqual({ rows: 5, columns: 1 });
    expect(matrixOf([])).toEqual({ rows: 1, columns: 1 });
    expect(matrixOf([0, 3])).toEqual({ rows: 0, columns: 3 });
  });

  it("knows which row of the first axis a row belongs to", () => {
    expect(rowIndex([2, 3, 4], 4)).toEqual([1, 1]);
    expect(firstAxis(parseSlice("", [2, 3, 4]), 4)).toBe(1);
    expect(firstAxis(parseSlice("1:3", [4, 3]), 1)).toBe(2);
    expect(firstAxis(parseSlice("3", [4, 3]), 0)).toBe(3);
    expect(firstAxis(parseSlice(":, 0", [4, 3]), 2)).toBe(2);
    expect(rowOfFirst(parseSlice("", [2, 3, 4]), 1)).toBe(3);
    expect(rowOfFirst(parseSlice("1:3", [4, 3]), 0)).toBeNull();
    expect(rowOfFirst(parseSlice("1:3", [4, 3]), 2)).toBe(1);
  });
});
