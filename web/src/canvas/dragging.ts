// Dragging, without a screen: positions are the canvas's own while something is dragged, and one edit when it is dropped.
import { applyNodeChanges, type NodeDimensionChange, type NodePositionChange } from "@xyflow/react";
import type { Document, Point } from "../api/types";
import { inOrder, moveNodes, setNote } from "../page/edits";
import type { Change, Selection } from "../store/types";
import { blockId, framesOf, type Item, nameOf, type OwnItem } from "./nodes";

type Changes = readonly (NodePositionChange | NodeDimensionChange)[];
type Page = { document: Document; selection: Selection };

const isFrame = (change: { id: string }) => change.id.startsWith("g:");

/** The items after changes by hand; the blocks of a dragged frame go with it. */
export function changedItems(items: OwnItem[], changes: Changes, page: Page): OwnItem[] {
  const shifts = framesShifted(items, changes, page);
  const own = changes.filter((change) => !isFrame(change));
  const changed = own.length ? (applyNodeChanges<Item>(own, items) as OwnItem[]) : items;
  if (!shifts.size) return changed;
  return changed.map((item) => {
    const by = shifts.get(item.id);
    return by ? { ...item, position: { x: item.position.x + by[0], y: item.position.y + by[1] } } : item;
  });
}

/** How far the blocks of dragged frames move. A block that is dragged itself moves on its own. */
function framesShifted(items: OwnItem[], changes: Changes, { document, selection }: Page): Map<string, Point> {
  const found = new Map<string, Point>();
  if (!changes.some(isFrame)) return found;
  const moved = new Map(
    changes.flatMap((one) => (one.type === "position" && one.position ? [[one.id, one.position]] : [])),
  );
  for (const frame of framesOf(document, items, selection)) {
    const to = moved.get(frame.id);
    if (!to) continue;
    const by: Point = [to.x - frame.position.x, to.y - frame.position.y];
    for (const id of frame.data.group.nodes.map(blockId)) if (!moved.has(id)) found.set(id, by);
  }
  return found;
}

/** What a drop does to the document: the new places of what was dragged, with the blocks of dragged frames. */
export function dropped(dragged: readonly Item[], itemAt: (id: string) => Item | undefined): [string, Change] | null {
  const moved = new Set(dragged.map((item) => item.id));
  for (const item of dragged) {
    if (item.type === "frame") for (const name of item.data.group.nodes) moved.add(blockId(name));
  }
  const positions: Record<string, Point> = {};
  const notes: Change[] = [];
  for (const id of moved) {
    const item = itemAt(id);
    if (!item) continue;
    const at: Point = [item.position.x, item.position.y];
    if (item.type === "block") positions[nameOf(id)] = at;
    else if (item.type === "note") notes.push(setNote(nameOf(id), { ...item.data.note, at }));
  }
  const count = Object.keys(positions).length + notes.length;
  return count ? [count === 1 ? "move" : `move ${count} items`, inOrder(moveNodes(positions), ...notes)] : null;
}
