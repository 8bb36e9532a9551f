// The right panel's edge: dragged, or moved with the arrow keys; the width stays for the next visit.
import { type KeyboardEvent, type PointerEvent, useState } from "react";

const KEPT = "gradbag-panel";
const [LEAST, MOST, STEP] = [240, 1000, 24];

export function usePanelWidth() {
  const [width, setWidth] = useState<number | null>(kept);
  const set = (wanted: number) => {
    const next = Math.round(Math.max(LEAST, Math.min(MOST, window.innerWidth * 0.7, wanted)));
    setWidth(next);
    try {
      localStorage.setItem(KEPT, String(next));
    } catch {
      // storage may be blocked
    }
  };
  const now = (edge: HTMLElement) => edge.parentElement?.getBoundingClientRect().width ?? LEAST;
  const edge = {
    className: "panel-edge",
    role: "separator",
    tabIndex: 0,
    "aria-orientation": "vertical" as const,
    "aria-label": "Width of the panel",
    "aria-valuemin": LEAST,
    "aria-valuemax": MOST,
    "aria-valuenow": width ?? 312,
    title: "Drag to make the panel wider",
    onPointerDown(event: PointerEvent<HTMLElement>) {
      event.preventDefault(); // else the drag selects the page's text
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove(event: PointerEvent<HTMLElement>) {
      if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
      const right = event.currentTarget.parentElement?.getBoundingClientRect().right ?? window.innerWidth;
      set(right - event.clientX);
    },
    onKeyDown(event: KeyboardEvent<HTMLElement>) {
      const by = event.key === "ArrowLeft" ? STEP : event.key === "ArrowRight" ? -STEP : 0;
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      set(now(event.currentTarget) + by);
    },
  };
  return { width, edge };
}

function kept(): number | null {
  try {
    return Number(localStorage.getItem(KEPT)) || null;
  } catch {
    return null;
  }
}
