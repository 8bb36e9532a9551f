import { describe, expect, test } from "vitest";
import type { Document } from "../api/types";
import * as edits from "./edits";
import { allWires, has } from "./links";

const page: Document = {
  format: "gradbag-page/1",
  title: "A page",
  nodes: {
    a: { op: "Source", attrs: { value: [1, 2] } },
    "a.b": { op: "Source" },
    sum: { op: "Join", in: { values: [{ from: "a" }, 3, { from: "a.b" }], axis: 0 } },
    last: { op: "Use", in: { x: { from: "sum.output" }, y: { from: "a" } }, after: ["a"] },
  },
  runs: { main: { fetch: ["last"], feed: { a: 4 } } },
  expect: { "sum.output": 1 },
  layout: { a: [0, 0], sum: [100, 0], last: [200, 0] },
  groups: { g: { title: "G", nodes: ["a", "sum"] } },
};

describe("inputs by name", () => {
  const named: Document = {
    format: "gradbag-page/1",
    nodes: { mean: { op: "Mean" }, d: { op: "Gradient", in: { of: { from: "mean" }, by: { input: "mean.data" } } } },
  };
  test("they follow a new name, and go with their node", () => {
    const renamed = edits.renameNode("mean", "average")(named);
    expect(renamed.nodes.d?.in).toEqual({ of: { from: "average" }, by: { input: "average.data" } });
    expect(edits.removeNodes(["mean"])(named).nodes.d).toEqual({ op: "Gradient" });
  });
});

describe("ports", () => {
  test("a literal is set, replaced and taken away; the order of ports stays", () => {
    const set = edits.setLiteral("last", "x", 5)(page);
    expect(Object.keys(set.nodes.last?.in ?? {})).toEqual(["x", "y"]);
    expect(set.nodes.last?.in?.x).toBe(5);
    expect(edits.disconnect("last", "x")(set).nodes.last?.in).toEqual({ y: { from: "a" } });
  });
  test("the last argument gone leaves no empty object behind", () => {
    const bare = edits.inOrder(edits.disconnect("last", "x"), edits.disconnect("last", "y"))(page);
    expect(bare.nodes.last).toEqual({ op: "Use", after: ["a"] });
  });
  test("an item of a list is replaced, appended, and taken out of the middle", () => {
    expect(edits.connect("sum", "values[1]", "a")(page).nodes.sum?.in?.values).toEqual([
      { from: "a" },
      { from: "a" },
      { from: "a.b" },
    ]);
    expect(edits.setLiteral("sum", "values[9]", 7)(page).nodes.sum?.in?.values).toHaveLength(4);
    expect(edits.disconnect("sum", "values[0]")(page).nodes.sum?.in?.values).toEqual([3, { from: "a.b" }]);
  });
  test("a change of a node that is not there changes nothing", () => {
    expect(edits.setLiteral("nobody", "x", 1)(page)).toBe(page);
    expect(edits.setAttr("constructor", "x", 1)(page)).toBe(page);
  });
  test("an attribute back at its default goes away", () => {
    expect(edits.setAttr("a", "value", undefined)(page).nodes.a).toEqual({ op: "Source" });
  });
});

describe("nodes", () => {
  test("removing a node takes its wires and every mention along", () => {
    const less = edits.removeNodes(["a"])(page);
    expect(less.nodes.sum?.in?.values).toEqual([3, { from: "a.b" }]);
    expect(less.nodes.last).toEqual({ op: "Use", in: { x: { from: "sum.output" } } });
    expect(less.groups?.g?.nodes).toEqual(["sum"]);
    expect(less.runs?.main?.feed).toEqual({});
    expect(less.layout).toEqual({ sum: [100, 0], last: [200, 0] });
  });
  test("a run that fetched only what is gone falls back to all leaves", () => {
    expect(edits.removeNodes(["last"])(page).runs?.main).toEqual({ feed: { a: 4 } });
  });
  test("a group without blocks goes with them", () => {
    expect(edits.removeNodes(["a", "sum"])(page).groups).toBeUndefined();
  });
  test("renaming follows every link, and tells a.b from port b of a", () => {
    const named = edits.renameNode("a", "first")(page);
    expect(Object.keys(named.nodes)).toEqual(["first", "a.b", "sum", "last"]);
    expect(named.nodes.sum?.in?.values).toEqual([{ from: "first" }, 3, { from: "a.b" }]);
    expect(named.nodes.last?.after).toEqual(["first"]);
    expect(named.runs?.main?.feed).toEqual({ first: 4 });
    const sum = edits.renameNode("sum", "total")(page);
    expect(sum.nodes.last?.in?.x).toEqual({ from: "total.output" });
    expect(sum.expect).toEqual({ "total.output": 1 });
  });
  test("a name that is taken is refused", () => {
    expect(edits.renameNode("a", "sum")(page)).toBe(page);
    expect(edits.nameProblem("sum", page, "a")).toContain("already");
    expect(edits.nameProblem("_x", page, "a")).not.toBe("");
    expect(edits.nameProblem("x/y_1", page, "a")).toBe("");
  });
  test("names are slugs, and free", () => {
    expect(edits.slug("RowMeanGradV2")).toBe("row_mean_grad_v2");
    expect(edits.slug("PickKV2")).toBe("pick_kv2");
    expect(edits.freeName("sum", (name) => has(page.nodes, name))).toBe("sum_2");
    expect(edits.freeName("sum_2", (name) => name === "sum_2")).toBe("sum_3");
  });
  test("what is unknown in a document stays", () => {
    const strange = { ...page, later: { x: 1 } } as Document;
    expect(edits.removeNodes(["a"])(strange).later).toEqual({ x: 1 });
  });
});

describe("groups and notes", () => {
  test("a block stands in one group only", () => {
    const two = edits.groupNodes("h", "H", ["sum", "last"], 1)(page);
    expect(two.groups?.g?.nodes).toEqual(["a"]);
    expect(two.groups?.h?.nodes).toEqual(["sum", "last"]);
  });
  test("the last note gone leaves no section behind", () => {
    const noted = edits.setNote("n", { text: "hello", at: [1.4, 2.6], size: [100, 50] })(page);
    expect(noted.notes?.n?.at).toEqual([1, 3]);
    expect(edits.setNote("n", undefined)(noted).notes).toBeUndefined();
  });
});

test("no edit changes the document it was given", () => {
  const text = JSON.stringify(page);
  edits.inOrder(edits.removeNodes(["a"]), edits.renameNode("sum", "x"), edits.moveNodes({ last: [1, 1] }))(page);
  expect(JSON.stringify(page)).toBe(text);
  expect(allWires(page)).toHaveLength(4);
});
