import { describe, expect, test } from "vitest";
import type { OpInfo } from "../api/types";
import { boxOf, GAP, rowsOf, spread } from "./geometry";
import { FOOT, HEAD, ROW } from "./sizes";

const op: OpInfo = {
  name: "Join",
  title: "Join",
  summary: "",
  category: "",
  sparse: false,
  gradient: false,
  fed: false,
  differentiable: false,
  types: {},
  inputs: [
    { name: "axis", dtype: "int32", many: false, dims: "", text: "" },
    { name: "values", dtype: "T", many: true, dims: "", text: "" },
  ],
  outputs: [{ name: "output", dtype: "T", many: false, count: "", dims: "", text: "" }],
  attrs: [
    { name: "must", kind: "int", required: true, default: null, allowed: null, text: "" },
    { name: "may", kind: "int", required: false, default: 1, allowed: null, text: "" },
  ],
  example: {},
  words: "",
};

describe("rows", () => {
  test("a list has a row per item and a place for one more", () => {
    const rows = rowsOf({ op: "Join", in: { values: [1, { from: "a" }] } }, op, []);
    expect(rows.inputs.map((row) => row.port)).toEqual(["axis", "values[0]", "values[1]", "values[2]"]);
    expect(rows.inputs.map((row) => row.item)).toEqual([null, 0, 1, null]);
  });
  test("settings that must be given or are given", () => {
    expect(rowsOf({ op: "Join" }, op, []).settings).toEqual(["must"]);
    expect(rowsOf({ op: "Join", attrs: { may: 2, strange: 3 } }, op, []).settings).toEqual(["must", "may", "strange"]);
  });
  test("an op that is not known keeps its ports, links and settings", () => {
    const rows = rowsOf({ op: "?", in: { x: { from: "a" }, l: [{ from: "a" }, 1] }, attrs: { k: 1 } }, undefined, [
      "second",
    ]);
    expect(rows.inputs.map((row) => row.port)).toEqual(["x", "l[0]", "l[1]"]);
    expect(rows.outputs).toEqual(["second"]);
    expect(rows.settings).toEqual(["k"]);
  });
  test("a list of outputs is as long as a setting says, or as the list of inputs is", () => {
    const output = { name: "parts", dtype: "T", many: true, count: "most", dims: "", text: "" };
    const split = { ...op, outputs: [output] };
    expect(rowsOf({ op: "Split", attrs: { most: 2 } }, split, []).outputs).toEqual(["parts[0]", "parts[1]"]);
    expect(rowsOf({ op: "Split", attrs: { most: -1 } }, split, []).outputs).toEqual([]);
    const each = { ...op, outputs: [{ ...output, count: "" }] };
    expect(rowsOf({ op: "Each", in: { values: [1, 2] } }, each, []).outputs).toEqual(["parts[0]", "parts[1]"]);
  });
  test("the height follows from the rows", () => {
    expect(boxOf("j", { op: "Join" }, op, []).height).toBe(HEAD + 3 * ROW + FOOT);
  });
});

describe("room for results", () => {
  const block = (name: string, x: number, y: number, extra = 0) => ({ name, x, y, width: 100, height: 50, extra });
  test("a block below makes room, one beside it does not", () => {
    const down = spread([block("a", 0, 0, 100), block("b", 0, 60), block("c", 200, 60)]);
    expect(down.get("b")).toBe(150 + GAP);
    expect(down.get("c")).toBe(60);
  });
  test("blocks that overlap by hand stay so", () => {
    expect(spread([block("a", 0, 0, 100), block("b", 10, 20)]).get("b")).toBe(20);
  });
  test("what is far enough below stays", () => {
    expect(spread([block("a", 0, 0, 20), block("b", 0, 200)]).get("b")).toBe(200);
  });
});
