import { describe, expect, test } from "vitest";
import type { Document } from "../api/types";
import { allWires, argumentAt, cycleOf, splitPort, splitSource } from "./links";

const page: Document = {
  format: "gradbag-page/1",
  nodes: {
    a: { op: "S" },
    "x.y": { op: "S" },
    b: { op: "J", in: { v: [{ from: "a" }, 1, { from: "x.y" }] } },
    c: { op: "U", in: { x: { from: "b.second" } }, after: ["x.y"] },
  },
};

describe("sources", () => {
  test("a node whose own name has the dot comes first", () => {
    expect(splitSource(page.nodes, "x.y")).toEqual(["x.y", ""]);
    expect(splitSource(page.nodes, "x.y.z")).toEqual(["x.y", "z"]);
    expect(splitSource(page.nodes, "nobody.z")).toEqual(["nobody.z", ""]);
    expect(splitSource(page.nodes, "toString")).toEqual(["toString", ""]);
  });
  test("items of lists", () => {
    expect(splitPort("v[12]")).toEqual(["v", 12]);
    expect(splitPort("v")).toEqual(["v", null]);
    expect(argumentAt(page.nodes.b, "v[1]")).toBe(1);
    expect(argumentAt(page.nodes.b, "v[7]")).toBeUndefined();
  });
  test("all wires", () => {
    expect(allWires(page).map((wire) => `${wire.from} ${wire.node}.${wire.port}`)).toEqual([
      "a b.v[0]",
      "x.y b.v[2]",
      "b.second c.x",
    ]);
  });
});

describe("cycles", () => {
  test("a wire back is named with its path", () => {
    expect(cycleOf(page, "c", "a")).toEqual(["a", "b", "c"]);
  });
  test("a node cannot read itself", () => {
    expect(cycleOf(page, "a", "a")).toEqual(["a"]);
  });
  test("waiting for a node counts too", () => {
    expect(cycleOf(page, "c", "x.y")).not.toBeNull();
  });
  test("a wire forward is fine", () => {
    expect(cycleOf(page, "a", "c")).toBeNull();
  });
});
