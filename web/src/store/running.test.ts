// @vitest-environment jsdom
// Runs without a server: its answers and events are given by hand.
import { beforeEach, describe, expect, test, vi } from "vitest";
import { api } from "../api/client";
import type { Document, StudioEvent } from "../api/types";
import { createStudio, type Store } from ".";

const page: Document = { format: "", nodes: { a: { op: "A" } }, runs: { first: {}, second: {} } };
const finished = (id: string): StudioEvent => ({
  type: "finished",
  id,
  state: "done",
  seconds: 0,
  ran: 1,
  cached: 0,
  mismatches: [],
  judged: [],
  stale: [],
  rounds: 0,
});

let frames: (() => void)[];
const drawn = () => {
  for (const frame of frames.splice(0)) frame();
};
const asked = vi.spyOn(api, "run");
const names = () => asked.mock.calls.map(([about]) => about.run);

function opened(): () => Store {
  const store = createStudio();
  store.setState({ document: page });
  return store.getState;
}

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (frame: () => void) => frames.push(frame));
  asked.mockReset().mockImplementation(async () => ({ id: `run ${asked.mock.calls.length}` }));
});

describe("a store", () => {
  test("asks for the page's runs one after the other", async () => {
    const studio = opened();
    await studio().runAll();
    studio().received(finished("run 1"));
    expect(studio().run.state).toBe("queued");
    drawn();
    expect(names()).toEqual(["first", "second"]);
  });
  test("takes events that came before the run's id, and no others", async () => {
    const studio = opened();
    const answered = studio().runAll();
    studio().received({ type: "started", id: "run 1" });
    studio().received({ type: "error", id: "another", node: "a", port: "", text: "wrong", kind: "" });
    expect(studio().run.state).toBe("queued");
    await answered;
    expect(studio().run.state).toBe("running");
    expect(studio().results).toEqual({});
  });
  test("gathers the events of a frame", async () => {
    const studio = opened();
    await studio().runAll();
    studio().received({ type: "started", id: "run 1" });
    studio().received({ type: "progress", id: "run 1", done: 1, total: 2, step: 0, steps: 1 });
    expect(frames).toHaveLength(1);
    drawn();
    expect(studio().run).toMatchObject({ state: "running", done: 1 });
  });
});

describe("two stores side by side", () => {
  test("the end of a run begins what follows it in its own page, not in the other's", async () => {
    const [one, other] = [opened(), opened()];
    await one().runAll();
    await other().runTo(["a"]);
    one().received(finished("run 1"));
    drawn();
    expect(names()).toEqual(["first", null, "second"]);
  });
  test("while one asks, the other does not keep events for it", async () => {
    const [one, other] = [opened(), opened()];
    const answered = one().runAll();
    other().received({ type: "started", id: "run 1" });
    await answered;
    expect(one().run).toMatchObject({ id: "run 1", state: "queued" });
  });
  test("each draws its own events", async () => {
    const [one, other] = [opened(), opened()];
    await one().runAll();
    await other().runAll();
    one().received({ type: "started", id: "run 1" });
    other().received({ type: "started", id: "run 2" });
    drawn();
    expect([one().run.state, other().run.state]).toEqual(["running", "running"]);
    expect(one().client).not.toBe(other().client);
  });
});
