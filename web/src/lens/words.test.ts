import { describe, expect, it } from "vitest";
import type { LensState } from "../store/types";
import {
  fraction,
  isWireLit,
  lensText,
  litRows,
  nextRow,
  rowCount,
  rowsText,
  shortName,
  sideText,
  termName,
} from "./words";

const state: LensState = {
  node: "mean",
  port: "output",
  index: [3],
  cell: null,
  difference: null,
  lit: null,
  error: "",
  lens: {
    marks: { "mean.output": [3], "data.output": [0, 2], "ids.output": [4], "loss.output": [-1] },
    feeds: ["data.output", "ids.output"],
    fed: ["loss.output"],
    wires: ["mean.data"],
    partial: "",
    sum: null,
  },
};

describe("the row lens in words", () => {
  it("names rows", () => {
    expect(rowsText([3])).toBe("row 3");
    expect(rowsText([0, 2, 5])).toBe("rows 0, 2 and 5");
    expect(rowsText([1, 2, 3, 4, 5])).toBe("5 rows");
    expect(rowsText([-1])).toBe("the value");
    expect(rowsText([])).toBe("nothing");
  });

  it("writes coefficients as people do, and names what a term comes from", () => {
    expect([0.5, 1 / 3, -0.5, 2, 0.123456, null].map(fraction)).toEqual(["½", "⅓", "(−½)", "2", "0.1235", "nan"]);
    expect(termName({ source: "table.output", index: [2, 1] })).toBe("table[2, 1]");
  });

  it("names all that belongs to a row when asked to", () => {
    const names = ["a.output", "b.output", "c.output", "d.output", "e.output"];
    const marks = Object.fromEntries(names.map((name) => [name, [0]]));
    expect(sideText(names, marks)).toContain("2 more");
    expect(sideText(names, marks, (name) => name, 100)).toContain("row 0 of e.output");
  });

  it("says what feeds a row and what it feeds", () => {
    expect(lensText(state)).toBe(
      "Row 3 of mean.output: fed by rows 0 and 2 of data.output, row 4 of ids.output; feeds the value of loss.output",
    );
    expect(lensText({ ...state, lens: null })).toBe("Row 3 of mean.output: looking along the wires");
    expect(lensText({ ...state, lens: null, error: "run the page first" })).toBe(
      "Row 3 of mean.output: run the page first",
    );
    const alone = { marks: {}, feeds: [], fed: [], wires: [], partial: "only 2,000 entries were followed", sum: null };
    expect(lensText({ ...state, index: [1, 2], lens: alone })).toBe(
      "Entry [1, 2] of mean.output: nothing feeds it, and it feeds nothing (only 2,000 entries were followed)",
    );
  });

  it("says what stands at both ends of a wire once", () => {
    const marks = { "data.output": [0], "mean.data": [0], "mean.output": [3] };
    const lens = { marks, feeds: ["mean.data", "data.output"], fed: [], wires: ["mean.data"], partial: "", sum: null };
    expect(lensText({ ...state, lens }, (port) => port.replace(".output", ""))).toBe(
      "Row 3 of mean: fed by row 0 of data",
    );
  });

  it("counts what it does not name", () => {
    const ports = ["a.x", "b.x", "c.x", "d.x", "e.x"];
    const marks = Object.fromEntries(ports.map((port) => [port, [0]]));
    expect(sideText(ports, marks)).toBe("row 0 of a.x, row 0 of b.x, row 0 of c.x, 2 more");
  });

  it("moves from row to row", () => {
    expect(nextRow([3], 1, 5)).toEqual([4]);
    expect(nextRow([4], 1, 5)).toBeNull();
    expect(nextRow([0], -1, null)).toBeNull();
    expect(nextRow([1, 2], 1, null)).toEqual([2, 2]);
    expect(nextRow([], 1, 5)).toBeNull();
  });

  it("knows what is lit", () => {
    expect(litRows(state, "data", "output")).toEqual([0, 2]);
    expect(litRows(state, "constructor", "x")).toBeNull();
    expect(litRows(null, "data", "output")).toBeNull();
    expect(isWireLit(state, "mean", "data")).toBe(true);
    expect(isWireLit(null, "mean", "data")).toBe(false);
  });

  it("counts rows of outputs and inputs", () => {
    const value = { name: "output", hash: "", dtype: "float32", shape: [7, 2], bytes: 0, table: null, summary: null };
    const results = { mean: { key: null, state: "done" as const, seconds: 0, outputs: [value], error: null } };
    const check = {
      problems: [],
      nodes: { mean: { key: null, inputs: { data: { dtype: null, shape: [4, null] } }, outputs: [], parts: 0 } },
      parts: {},
      frozen: [],
    };
    expect(rowCount({ results, check }, "mean", "output")).toBe(7);
    expect(rowCount({ results, check }, "mean", "data")).toBe(4);
    expect(rowCount({ results, check }, "mean", "nothing")).toBeNull();
    expect(shortName(results, "mean.output")).toBe("mean");
    expect(shortName(results, "mean.data")).toBe("mean.data");
    expect(shortName(results, "other.output")).toBe("other.output");
  });
});
