// A number in a block that holds a tensor is dragged: to the right it grows, with Alt in smaller steps.
import type { PointerEvent } from "react";
import type { Entry, OpInfo } from "../api/types";
import { setAttr } from "../page/edits";
import { useStudio } from "../store";

const PIXELS = 4; // for one step
const START = 3; // so far the pointer may stray in a click

/** A nested list with one number replaced; null where there is no number at the place. */
export function withNumber(value: unknown, place: readonly number[], change: (before: number) => number): unknown {
  if (!place.length) return typeof value === "number" ? change(value) : null;
  if (!Array.isArray(value)) return null;
  const [first, ...rest] = place as [number, ...number[]];
  const inner = withNumber(value[first], rest, change);
  return inner === null ? null : value.map((one, at) => (at === first ? inner : one));
}

/** A step that fits the number: ones for whole numbers, a tenth of its size else. */
export function stepFor(number: number, whole: boolean, fine: boolean): number {
  if (whole) return 1;
  const size = 10 ** Math.floor(Math.log10(Math.max(Math.abs(number), 1e-3)));
  return (size / 10) * (fine ? 0.1 : 1);
}

/** The setting of a block that holds a tensor in the page itself, and reads nothing. */
export function heldTensor(entry: Entry, op: OpInfo | undefined): string | null {
  const attr = op && !op.inputs.length ? op.attrs.find((one) => one.kind === "tensor") : undefined;
  const value = attr && entry.attrs?.[attr.name];
  return attr && (Array.isArray(value) || typeof value === "number") ? attr.name : null;
}

export function dragNumber(event: PointerEvent<HTMLElement>, node: string): void {
  const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-cell]") : null;
  const studio = useStudio.getState();
  const entry = studio.document.nodes[node];
  const op = studio.ops.get(entry?.op ?? "");
  const attr = entry && heldTensor(entry, op);
  if (!studio.live || !cell || !entry || !attr || event.button !== 0) return;
  const place = (cell.dataset.cell ?? "").split(",").filter(Boolean).map(Number);
  const value = entry.attrs?.[attr];
  let start = Number.NaN;
  withNumber(value, place, (number) => {
    start = number;
    return number;
  });
  if (Number.isNaN(start)) return;
  const type = op?.attrs.find((one) => one.kind === "type")?.name ?? "";
  const whole = /int/.test(String(entry.attrs?.[type] ?? "")) || !type;
  const box = event.currentTarget;
  const from = event.clientX;
  let moved = false;
  const end = new AbortController();
  const { signal } = end;
  window.addEventListener(
    "pointermove",
    (now) => {
      const far = now.clientX - from;
      if (!moved && Math.abs(far) < START) return;
      moved = true;
      box.classList.add("dragging-number");
      const step = stepFor(start, whole, now.altKey);
      const next = Number((start + Math.round(far / PIXELS) * step).toPrecision(6));
      const changed = withNumber(value, place, () => next);
      useStudio
        .getState()
        .edit(`drag ${node}[${place.join(", ")}]`, setAttr(node, attr, changed), `drag ${node} ${from}`);
    },
    { signal },
  );
  const stop = () => {
    end.abort();
    box.classList.remove("dragging-number");
  };
  window.addEventListener("pointerup", stop, { signal });
  window.addEventListener("pointercancel", stop, { signal });
  // A drag is no click on the row.
  window.addEventListener("click", (click) => moved && click.stopPropagation(), { capture: true, once: true });
}
