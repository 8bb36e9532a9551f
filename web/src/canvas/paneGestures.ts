// What the mouse does on the empty canvas, and where it is.
import type { DragEvent, MouseEvent, PointerEvent } from "react";
import type { Point } from "../api/types";
import { useStudio } from "../store";
import { canvasView, DRAGGED_OP, placeOnPage, placeOnScreen } from "./view";

export function openSearch(at: Point = placeOnScreen()): void {
  useStudio.getState().openQuick({ at, position: placeOnPage(at), wiring: null });
}

export const paneGestures = {
  onDoubleClick({ target, clientX, clientY }: MouseEvent) {
    if (!(target instanceof Element) || !target.classList.contains("react-flow__pane")) return;
    openSearch([clientX, clientY]);
  },
  onDragOver(event: DragEvent) {
    if (!event.dataTransfer.types.includes(DRAGGED_OP)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  },
  onDrop(event: DragEvent) {
    const op = event.dataTransfer.getData(DRAGGED_OP);
    if (!op) return;
    event.preventDefault();
    event.stopPropagation();
    const [x, y] = placeOnPage([event.clientX, event.clientY]);
    useStudio.getState().addBlock(op, [x - 80, y - 20]);
  },
  onPointerMove(event: PointerEvent) {
    canvasView.pointer = [event.clientX, event.clientY];
  },
  onPointerLeave() {
    canvasView.pointer = null;
  },
};

export function letWireGo(): void {
  const { wiring, putDown, closeQuick } = useStudio.getState();
  if (wiring) putDown();
  closeQuick();
}
