// @vitest-environment jsdom
// The store without a server: every request fails, and editing goes on.
import { beforeEach, describe, expect, test, vi } from "vitest";
import type { OpInfo, StudioEvent, Value } from "../api/types";
import { createStudio, type Store } from ".";
import { initialState } from "./initial";
import { told } from "./results";

vi.stubGlobal("fetch", () => Promise.reject(new Error("no server here")));

const op: OpInfo = {
  name: "TwoToOne",
  title: "Two to one",
  summary: "",
  category: "Tests",
  sparse: false,
  gradient: false,
  fed: false,
  differentiable: true,
  types: {},
  inputs: [
    { name: "x", dtype: "float32", many: false, dims: "", text: "" },
    { name: "more", dtype: "float32", many: true, dims: "", text: "" },
  ],
  outputs: [{ name: "output", dtype: "float32", many: false, count: "", dims: "", text: "" }],
  attrs: [],
  example: { in: { x: 1, more: [2, 3] } },
  words: "",
};

let studio: () => Store;
beforeEach(() => {
  const store = createStudio();
  store.setState({ ops: new Map([[op.name, op]]) });
  studio = store.getState;
});

describe("editing", () => {
  test("a block comes with its example, selected, under a free name", () => {
    expect(studio().addBlock("TwoToOne", [10.4, 20])).toBe("two_to_one");
    expect(studio().addBlock("TwoToOne", [10, 20])).toBe("two_to_one_2");
    expect(studio().document.nodes.two_to_one).toEqual({ op: "TwoToOne", in: { x: 1, more: [2, 3] } });
    expect(studio().selection.nodes).toEqual(["two_to_one_2"]);
  });
  test("a block dropped at a wire's end is connected in the same step", () => {
    studio().addBlock("TwoToOne", [0, 0]);
    const from = { node: "two_to_one", port: "output", side: "output" } as const;
    studio().addBlock("TwoToOne", [300, 0], { wiring: from, port: "more" });
    expect(studio().document.nodes.two_to_one_2?.in).toEqual({ x: 1, more: [{ from: "two_to_one" }, 3] });
    studio().undo();
    expect(Object.keys(studio().document.nodes)).toEqual(["two_to_one"]);
  });
  test("deleting wires of one list takes the right ones", () => {
    studio().addBlock("TwoToOne", [0, 0]);
    studio().edit("wire", (d) => ({
      ...d,
      nodes: { ...d.nodes, t: { op: "TwoToOne", in: { more: [{ from: "two_to_one" }, 7, { from: "two_to_one" }] } } },
    }));
    studio().select({ wires: ["t.more[0]", "t.more[2]"] });
    studio().removeSelection();
    expect(studio().document.nodes.t?.in).toEqual({ more: [7] });
    studio().undo();
    expect(studio().document.nodes.t?.in?.more).toHaveLength(3);
  });
  test("what is gone is no longer selected; undo marks the page clean where it was saved", () => {
    studio().addBlock("TwoToOne", [0, 0]);
    studio().removeSelection();
    expect(studio().selection.nodes).toEqual([]);
    studio().undo();
    studio().undo();
    expect(studio().file.save).toBe("clean");
  });
  test("duplicating is one step", () => {
    studio().addBlock("TwoToOne", [0, 0]);
    studio().duplicate();
    expect(Object.keys(studio().document.nodes)).toHaveLength(2);
    studio().undo();
    expect(Object.keys(studio().document.nodes)).toHaveLength(1);
  });
});

describe("events", () => {
  const value = { name: "output", hash: "h", dtype: "float32", shape: [], bytes: 4, table: 1, summary: null } as Value;
  const events: StudioEvent[] = [
    { type: "started", id: "1" },
    { type: "node", id: "1", node: "a", state: "running" },
    { type: "node", id: "1", node: "a", state: "done", key: "k", seconds: 0.1, outputs: [value] },
    { type: "node", id: "1", node: "b", state: "running" },
    { type: "error", id: "1", node: "c", port: "x", text: "wrong", kind: "shape" },
    {
      type: "finished",
      id: "1",
      state: "failed",
      seconds: 0.2,
      ran: 1,
      cached: 0,
      mismatches: [],
      judged: [],
      stale: [],
      rounds: 0,
    },
  ];
  test("tell results, the error at its port, and how the run ended", () => {
    const { results, run } = told({}, { ...initialState().run, id: "1" }, events);
    expect(results.a).toMatchObject({ state: "done", key: "k", outputs: [value] });
    expect(results.b).toBeUndefined();
    expect(results.c).toMatchObject({ state: "error", error: { port: "x", text: "wrong" } });
    expect(run).toMatchObject({ state: "idle", id: null, outcome: "failed", ran: 1 });
  });
  test("a value from before stays while its block runs again", () => {
    const first = told({}, initialState().run, events.slice(0, 3));
    const again = told(first.results, first.run, [{ type: "node", id: "2", node: "a", state: "running" }]);
    expect(again.results.a).toMatchObject({ state: "running", outputs: [value] });
  });
});
