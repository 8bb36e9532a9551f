// The canvas as it is on the screen, for commands that come from keys and menus.
import type { ReactFlowInstance } from "@xyflow/react";
import type { Point } from "../api/types";
import { blockId, type Item, type WireEdge } from "./nodes";

export const ZOOM = { min: 0.02, max: 2.5 };
export const DRAGGED_OP = "application/x-gradbag-op"; // the kind of what is dragged from the palette

export const canvasView: {
  flow: ReactFlowInstance<Item, WireEdge> | null;
  element: HTMLElement | null;
  pointer: Point | null; // where the mouse is, while over the canvas
} = { flow: null, element: null, pointer: null };

/** What is typed into. */
export const FIELDS = "input:not([type=checkbox]), textarea, select, [contenteditable=true]";

/** Keys go on at a block, once it is drawn; who types somewhere by then is left alone. */
export function focusBlock(name: string): void {
  const drawn = `[data-id="${CSS.escape(blockId(name))}"]`;
  requestAnimationFrame(() => {
    if (document.activeElement?.matches(FIELDS)) return;
    canvasView.element?.querySelector<HTMLElement>(drawn)?.focus();
  });
}

/** A place on the screen for something new: under the pointer, or in the middle of the canvas. */
export function placeOnScreen(): Point {
  if (canvasView.pointer) return canvasView.pointer;
  const box = canvasView.element?.getBoundingClientRect();
  return box ? [box.left + box.width / 2, box.top + box.height / 3] : [400, 300];
}

/** The same place on the page. */
export function placeOnPage([x, y]: Point = placeOnScreen()): Point {
  const at = canvasView.flow?.screenToFlowPosition({ x, y });
  return at ? [Math.round(at.x), Math.round(at.y)] : [40, 40];
}
