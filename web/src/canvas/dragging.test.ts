import { describe, expect, test } from "vitest";
import type { Document } from "../api/types";
import { changedItems, dropped } from "./dragging";
import { blockId, framesOf, groupId, type Item, itemsOf, type OwnItem } from "./nodes";

const document: Document = {
  format: "",
  nodes: { a: { op: "A" }, b: { op: "B" }, c: { op: "C" } },
  layout: { a: [0, 0], b: [300, 0], c: [600, 0] },
  groups: { g: { title: "G", nodes: ["a", "b"] } },
  notes: { n: { text: "", at: [0, 400], size: [200, 100] } },
};
const selection = { nodes: [], wires: [], groups: [], notes: [] };
const page = { document, selection };
const items = itemsOf({ ...page, ops: new Map(), results: {} }, []);
const frame = framesOf(document, items, selection)[0] as Item;

const to = (id: string, x: number, y: number) => ({
  id,
  type: "position" as const,
  position: { x, y },
  dragging: true,
});
const frameBy = (x: number, y: number) => to(groupId("g"), frame.position.x + x, frame.position.y + y);
const places = (all: readonly OwnItem[]) => all.map((item) => [item.position.x, item.position.y]);

describe("while something is dragged", () => {
  test("it alone moves; the others stay the same objects", () => {
    const after = changedItems(items, [to(blockId("c"), 640, 8)], page);
    expect(places(after)[2]).toEqual([640, 8]);
    expect(after[0]).toBe(items[0]);
  });
  test("the blocks of a frame go with it", () => {
    expect(places(changedItems(items, [frameBy(10, 20)], page))).toEqual([
      [10, 20],
      [310, 20],
      [600, 0],
      [0, 400],
    ]);
  });
  test("a block that is dragged with its frame does not go twice as far", () => {
    const after = changedItems(items, [frameBy(10, 20), to(blockId("a"), 10, 20)], page);
    expect(places(after).slice(0, 2)).toEqual([
      [10, 20],
      [310, 20],
    ]);
  });
});

describe("a drop", () => {
  const at = (all: readonly Item[]) => (id: string) => all.find((item) => item.id === id);
  test("is one edit of all that has moved, blocks inside a frame and notes too", () => {
    const after = changedItems(items, [frameBy(10, 20), to("t:n", 4, 404)], page);
    const [label, change] = dropped([frame, after[3] as Item], at(after)) ?? [];
    expect(label).toBe("move 3 items");
    expect(change?.(document)).toMatchObject({
      layout: { a: [10, 20], b: [310, 20], c: [600, 0] },
      notes: { n: { at: [4, 404] } },
    });
  });
  test("is named for one, and is nothing for what has gone meanwhile", () => {
    expect(dropped([items[2] as Item], at(items))?.[0]).toBe("move");
    expect(dropped([items[2] as Item], () => undefined)).toBeNull();
  });
});
