// @vitest-environment jsdom
import { beforeEach, expect, test } from "vitest";
import { useStudio } from "../store";
import { selectItems, selectWires } from "./selecting";

beforeEach(() => useStudio.getState().select({ nodes: ["a"], wires: ["b.x"], notes: ["n"] }));

test("each kind of item keeps to its own list", () => {
  selectItems([
    { id: "n:b", selected: true },
    { id: "n:a", selected: false },
    { id: "g:a", selected: true },
  ]);
  expect(useStudio.getState().selection).toEqual({ nodes: ["b"], wires: ["b.x"], groups: ["a"], notes: ["n"] });
});

test("wires are selected beside the blocks", () => {
  selectWires([
    { id: "c.x", selected: true },
    { id: "b.x", selected: false },
  ]);
  expect(useStudio.getState().selection).toEqual({ nodes: ["a"], wires: ["c.x"], groups: [], notes: ["n"] });
});
