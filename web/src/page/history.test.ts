import { describe, expect, test } from "vitest";
import type { Document } from "../api/types";
import { MOST_STEPS, NO_HISTORY, recorded, redone, sealed, undone } from "./history";

const page = (title: string): Document => ({ format: "gradbag-page/1", title, nodes: {} });

describe("undo and redo", () => {
  test("go back and forth over the same objects", () => {
    const [a, b, c] = [page("a"), page("b"), page("c")];
    const history = recorded(recorded(NO_HISTORY, a, "one"), b, "two");
    const back = undone(history, c);
    expect(back?.document).toBe(b);
    expect(back?.label).toBe("two");
    const further = undone(back?.history ?? NO_HISTORY, b);
    expect(further?.document).toBe(a);
    expect(undone(further?.history ?? NO_HISTORY, a)).toBeNull();
    expect(redone(further?.history ?? NO_HISTORY, a)?.document).toBe(b);
  });
  test("a new edit forgets what was undone", () => {
    const back = undone(recorded(NO_HISTORY, page("a"), "one"), page("b"));
    const on = recorded(back?.history ?? NO_HISTORY, page("a"), "other");
    expect(redone(on, page("x"))).toBeNull();
  });
  test("typing is one step until it is sealed", () => {
    let history = recorded(NO_HISTORY, page("a"), "type", "field");
    history = recorded(history, page("ab"), "type", "field");
    expect(history.past).toHaveLength(1);
    history = recorded(sealed(history), page("abc"), "type", "field");
    expect(history.past).toHaveLength(2);
    expect(recorded(history, page("x"), "type", "another").past).toHaveLength(3);
  });
  test("an edit after undo does not join the step before it", () => {
    const one = recorded(recorded(NO_HISTORY, page("a"), "type", "k"), page("b"), "move");
    const back = undone(one, page("c"));
    expect(recorded(back?.history ?? NO_HISTORY, page("b"), "type", "k").past).toHaveLength(2);
  });
  test("the number of steps is bounded", () => {
    let history = NO_HISTORY;
    for (let n = 0; n < MOST_STEPS + 20; n++) history = recorded(history, page(`${n}`), "x");
    expect(history.past).toHaveLength(MOST_STEPS);
    expect(history.past[0]?.before.title).toBe("20");
  });
});
