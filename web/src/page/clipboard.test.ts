import { describe, expect, test } from "vitest";
import type { Document } from "../api/types";
import { fragmentOf, pasted, readFragment } from "./clipboard";

const page: Document = {
  format: "gradbag-page/1",
  nodes: {
    a: { op: "S" },
    b: { op: "U", in: { x: { from: "a" } } },
    c: { op: "U", in: { x: { from: "b.second" }, y: 2 }, after: ["a", "b"] },
  },
  layout: { a: [0, 0], b: [100, 0], c: [200, 0] },
  groups: { g: { title: "G", nodes: ["b", "c"], color: 1 }, h: { title: "H", nodes: ["a"] } },
  notes: { n: { text: "note", at: [5, 5], size: [100, 50] } },
};

function roundTrip(into: Document, here: string) {
  const fragment = readFragment(fragmentOf(page, { nodes: ["b", "c"], notes: ["n"] }, "home"));
  if (!fragment) throw new Error("no fragment");
  return pasted(into, fragment, [10, 20], here);
}

describe("on the same page", () => {
  const { document, names } = roundTrip(page, "home");
  test("names are free, wires inside follow, wires from outside stay", () => {
    expect(names.nodes).toEqual(["b_2", "c_2"]);
    expect(document.nodes.b_2?.in).toEqual({ x: { from: "a" } });
    expect(document.nodes.c_2).toEqual({ op: "U", in: { x: { from: "b_2.second" }, y: 2 }, after: ["a", "b_2"] });
  });
  test("positions, whole groups and notes come along", () => {
    expect(document.layout?.b_2).toEqual([110, 20]);
    expect(names.groups).toEqual(["g_2"]);
    expect(document.groups?.g_2).toEqual({ title: "G", nodes: ["b_2", "c_2"], color: 1 });
    expect(document.notes?.n_2?.at).toEqual([15, 25]);
  });
  test("what was there is the same", () => {
    for (const name of ["a", "b", "c"]) expect(document.nodes[name]).toBe(page.nodes[name]);
  });
});

test("on another page, wires from outside are cut though a block has the same name", () => {
  const other: Document = { format: "gradbag-page/1", nodes: { a: { op: "Z" } } };
  const { document } = roundTrip(other, "elsewhere");
  expect(document.nodes.b).toEqual({ op: "U" });
  expect(document.nodes.c?.in).toEqual({ x: { from: "b.second" }, y: 2 });
  expect(document.nodes.c?.after).toEqual(["b"]);
});

test("other texts are no fragments", () => {
  for (const text of ["", "hello", "[1]", '{"nodes": {}}', '{"format": "gradbag-page/1", "nodes": {"a": 3}}', "null"]) {
    expect(readFragment(text)).toBeNull();
  }
});
