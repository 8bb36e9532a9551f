import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Tensor } from "./cells";
import * as grid from "./gridModel";

const matrix: Tensor = { shape: [2, 3], cells: [1, 2, 3, 4, 5, 6] };
const model = grid.modelOf(matrix, "float32");
const at = (top: number, left: number, bottom = top, right = left) => ({ top, left, bottom, right });

describe("a grid's model", () => {
  it("gives back what it was given", () => {
    expect(grid.tensorOf(model)).toMatchObject({ tensor: matrix, problems: new Map() });
    const odd: Tensor = { shape: [3], cells: ["nan", "9007199254740993", "-inf"] };
    expect(grid.tensorOf(grid.modelOf(odd, "float64")).tensor).toEqual(odd);
    const complex: Tensor = {
      shape: [2],
      cells: [
        [1, -2],
        ["nan", "inf"],
      ],
    };
    expect(grid.tensorOf(grid.modelOf(complex, "complex64")).tensor).toEqual(complex);
    const words: Tensor = { shape: [2], cells: ["nan", " a\tb"] };
    expect(grid.tensorOf(grid.modelOf(words, "string")).tensor).toEqual(words);
  });

  it("keeps a slip where it was typed and says what is wrong", () => {
    const slipped = grid.setTexts(model, grid.sheetOf([2, 3], []), { row: 1, column: 0 }, [["x", ""]]);
    expect([...grid.tensorOf(slipped).problems]).toEqual([
      [3, "“x” is no number"],
      [4, "A value is missing here"],
    ]);
    expect(grid.cellOf("1.5", "int32")).toEqual({
      problem: "1.5 is not a whole number, and int32 holds whole numbers only",
    });
    expect(grid.cellOf("2", "complex64")).toEqual({ cell: [2, 0] });
    expect(grid.cellOf("", "string")).toEqual({ cell: "" });
  });

  it("reads again only what has changed, to the same end", () => {
    const texts = fc.array(fc.constantFrom("1", "2.5", "x", "", "nan"), { minLength: 4, maxLength: 4 });
    fc.assert(
      fc.property(texts, texts, fc.constantFrom("int32", "float32"), (before, after, dtype) => {
        const first = grid.tensorOf({ shape: [4], texts: before, dtype: "float32" });
        const second: grid.Model = { shape: [2, 2], texts: after, dtype };
        expect(grid.tensorOf(second, first)).toEqual(grid.tensorOf(second));
      }),
    );
  });

  it("adds and removes rows and columns on any axis", () => {
    expect(grid.splice(model, 0, 1, 0, 1)).toMatchObject({
      shape: [3, 3],
      texts: ["1", "2", "3", "0", "0", "0", "4", "5", "6"],
    });
    expect(grid.splice(model, 1, 0, 2, 0)).toMatchObject({ shape: [2, 1], texts: ["3", "6"] });
    expect(grid.splice(model, 0, 0, 2, 0)).toMatchObject({ shape: [0, 3], texts: [] });
    expect(grid.splice(grid.splice(model, 0, 0, 2, 0), 0, 0, 0, 1)).toMatchObject({
      shape: [1, 3],
      texts: ["0", "0", "0"],
    });
  });

  it("takes another shape", () => {
    expect(grid.reshape(model, [3, 2])).toMatchObject({ shape: [3, 2], texts: ["1", "2", "3", "4", "5", "6"] });
    expect(grid.reshape(model, [3, 3])).toMatchObject({ texts: ["1", "2", "3", "4", "5", "6", "0", "0", "0"] });
    expect(grid.reshape(model, [2, 2, 3])).toMatchObject({ shape: [2, 2, 3] });
    expect(grid.reshape(model, [2])).toMatchObject({ shape: [2], texts: ["1", "2"] });
    expect(grid.reshape(model, [])).toMatchObject({ shape: [], texts: ["1"] });
    expect(grid.reshape(grid.modelOf({ shape: [], cells: [7] }, "int32"), [2])).toMatchObject({ texts: ["7", "0"] });
  });

  it("finds elements of higher ranks by slice", () => {
    expect(grid.sheetOf([2, 3, 4], [1])).toEqual({ rows: 3, columns: 4, base: 12 });
    expect(grid.sheetOf([5], [])).toEqual({ rows: 5, columns: 1, base: 0 });
    expect(grid.indexOf([2, 3, 4], [1], { row: 2, column: 0 })).toEqual([1, 2, 0]);
    expect(grid.placeOf([2, 3, 4], 13)).toEqual({ slice: [1], at: { row: 0, column: 1 } });
  });

  it("always has as many texts as its shape says", () => {
    const shapes = fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 4 });
    fc.assert(
      fc.property(shapes, shapes, (from, to) => {
        const start = grid.reshape(grid.modelOf({ shape: [], cells: [1] }, "int32"), from);
        const end = grid.reshape(start, to);
        expect(end.texts.length).toBe(to.reduce((size, length) => size * length, 1));
        expect(end.texts.every((text) => typeof text === "string")).toBe(true);
      }),
    );
  });
});

describe("shape text", () => {
  it.each([
    ["2, 3", [2, 3]],
    ["[2,3]", [2, 3]],
    ["2x3", [2, 3]],
    ["(4,)", [4]],
    ["", []],
    ["0, 3", [0, 3]],
  ])("reads %j", (text, shape) => {
    expect(grid.parseShape(text)).toEqual(shape);
  });

  it("is refused in words", () => {
    expect(() => grid.parseShape("2, a")).toThrow("“a” is no length");
    expect(() => grid.parseShape("-1")).toThrow("“-1” is no length");
    expect(() => grid.parseShape("1000, 1000")).toThrow("At most 100,000 elements");
    expect(() => grid.parseShape("0, 999999999")).toThrow("At most 100,000 elements");
  });
});

describe("paste", () => {
  it("puts cells in from the place on, and the grid grows", () => {
    const { model: made, area } = grid.paste(model, [], at(1, 2), "7\t8\n9\t10", []);
    expect(made.shape).toEqual([3, 4]);
    expect(made.texts).toEqual(["1", "2", "3", "0", "4", "5", "7", "8", "0", "0", "9", "10"]);
    expect(area).toEqual(at(1, 2, 2, 3));
  });

  it("fills a range with one value", () => {
    expect(grid.paste(model, [], at(0, 0, 1, 1), "9", []).model.texts).toEqual(["9", "9", "3", "9", "9", "6"]);
  });

  it("takes the place of everything where the text has a shape", () => {
    const pasted = grid.paste(model, [], at(1, 1), "array([[1, 2]], dtype=int64)", ["float32", "int64"]);
    expect(pasted).toMatchObject({ model: { shape: [1, 2], texts: ["1", "2"], dtype: "int64" }, whole: true });
    expect(grid.paste(model, [], at(0, 0), "{{1,2},{3,4}}", []).model).toMatchObject({
      shape: [2, 2],
      dtype: "float32",
    });
  });

  it("runs down a vector", () => {
    const vector = grid.modelOf({ shape: [2], cells: [1, 2] }, "int32");
    expect(grid.paste(vector, [], at(1, 0), "5\t6\t7", []).model).toMatchObject({
      shape: [4],
      texts: ["1", "5", "6", "7"],
    });
    expect(() => grid.paste(vector, [], at(0, 0), "1\t2\n3\t4", [])).toThrow("A vector has one column");
  });

  it("keeps what is no number, to be put right in its cell", () => {
    expect(grid.paste(model, [], at(0, 0), "a\tb", []).model.texts.slice(0, 3)).toEqual(["a", "b", "3"]);
  });

  it("refuses what the grid cannot hold", () => {
    const column = new Array(100_001).fill("1").join("\n");
    expect(() => grid.paste(model, [], at(0, 0), column, [])).toThrow("too many for the grid");
  });

  it("copies as a spreadsheet does", () => {
    expect(grid.copied(model, grid.sheetOf([2, 3], []), at(0, 1, 1, 2))).toBe("2\t3\n5\t6");
  });
});

describe("undo", () => {
  it("goes back and forth", () => {
    const second = grid.fill(model, grid.sheetOf([2, 3], []), at(0, 0), "9");
    const history = grid.changed(grid.begun(model), second);
    expect(grid.undone(history).now).toBe(model);
    expect(grid.redone(grid.undone(history)).now).toBe(second);
    expect(grid.undone(grid.begun(model)).now).toBe(model);
    expect(grid.changed(history, second)).toBe(history);
  });

  it("forgets the oldest rather than fill memory", () => {
    let history = grid.begun(grid.reshape(model, [100_000]));
    for (let step = 0; step < 120; step += 1) {
      history = grid.changed(history, { ...history.now, dtype: step % 2 ? "float32" : "float64" });
    }
    expect(history.past.length).toBeLessThanOrEqual(40);
  });
});
