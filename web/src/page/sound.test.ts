import fc from "fast-check";
import { expect, test } from "vitest";
import type { Document } from "../api/types";
import { sound } from "./sound";

const PAGE: Document = {
  format: "gradbag-page/1",
  title: "T",
  nodes: { a: { op: "X", in: { x: 1, y: { from: "b.out" }, z: [{ from: "b" }, 2] }, attrs: { n: 1 } }, b: { op: "Y" } },
  runs: { main: { fetch: ["a"], mode: "loop", steps: 3 } },
  expect: { a: [1] },
  layout: { a: [0, 1], b: [2, 3] },
  groups: { g: { title: "G", nodes: ["a"] } },
  notes: { n: { text: "N", at: [0, 0], size: [10, 10] } },
  unknown: { kept: true },
};

test("a page of the right form is the very same object", () => {
  expect(sound(PAGE)).toEqual({ page: PAGE, left: [] });
  expect(sound(PAGE).page).toBe(PAGE);
});

test("a note without a size gets one, and that is no fault", () => {
  const found = sound({ ...PAGE, notes: { n: { text: "N", at: [0, 0] } as never } });
  expect(found.left).toEqual([]);
  expect(found.page.notes?.n?.size).toEqual([240, 120]);
});

test("what has the wrong form is left out and named; the rest stays", () => {
  const found = sound({
    ...PAGE,
    title: 5,
    nodes: {
      ...PAGE.nodes,
      c: 3,
      d: { op: "Z", in: 7, attrs: [1], after: "x" },
      e: { op: "Z", in: { x: { from: 7 } } },
    },
    runs: { main: 3, other: { fetch: "a", steps: 2 } },
    layout: { a: [1e308, 2], b: [1, 2] },
    groups: { g: { title: "G", nodes: "a" }, h: { nodes: ["a"] } },
    notes: 5,
  } as never);
  expect(found.left).toEqual([
    "title",
    "nodes.c",
    "nodes.d.in",
    "nodes.d.attrs",
    "nodes.d.after",
    "nodes.e.in.x",
    "runs.main",
    "runs.other.fetch",
    "layout.a",
    "groups.g",
    "notes",
  ]);
  expect(found.page.nodes.d).toEqual({ op: "Z" });
  expect(found.page.groups).toEqual({ h: { title: "", nodes: ["a"] } });
  expect(found.page.unknown).toEqual({ kept: true });
});

test("whatever stands in a document, what is left of it has the right form", () => {
  const sections = ["nodes", "runs", "expect", "layout", "groups", "notes", "title"];
  const anything = fc.record(Object.fromEntries(sections.map((name) => [name, fc.jsonValue({ maxDepth: 4 })])));
  fc.assert(
    fc.property(anything, (document) => {
      const once = sound({ format: "gradbag-page/1", ...document } as never).page;
      expect(sound(once).left).toEqual([]);
    }),
  );
});
