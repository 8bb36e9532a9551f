// What has changed since a value was last drawn: its cells flash, and the difference stands beside them for a moment.
import { createContext, useContext, useEffect, useRef } from "react";
import type { Value } from "../api/types";
import { flattened, indexAt } from "./cells";

type Differences = { number: number; by: ReadonlyMap<string, number> }; // the number tells one change from the next
const NONE: Differences = { number: 0, by: new Map() };

export const Changed = createContext<Differences>(NONE);

/** The differences to the value before, by "row,column". */
export function differences(before: Value, now: Value): Map<string, number> {
  const found = new Map<string, number>();
  if (before.dtype !== now.dtype || before.shape.join() !== now.shape.join()) return found;
  const [old, young] = [flattened(before.table), flattened(now.table)];
  for (let at = 0; old && young && at < young.cells.length; at += 1) {
    const [a, b] = [old.cells[at], young.cells[at]];
    if (typeof a === "number" && typeof b === "number" && a !== b) found.set(indexAt(now.shape, at).join(), b - a);
  }
  return found;
}

export function useChanged(value: Value, live: boolean): Differences {
  const before = useRef<Value | null>(null);
  const changed = useRef<Differences>(NONE);
  if (!live) changed.current = NONE;
  else if (before.current && before.current.hash !== value.hash) {
    changed.current = { number: changed.current.number + 1, by: differences(before.current, value) };
  }
  useEffect(() => {
    before.current = value;
  }, [value]);
  return changed.current;
}

export function Delta({ place }: { place: string | number }) {
  const { number, by } = useContext(Changed);
  const difference = by.get(String(place));
  if (difference === undefined) return null;
  const text = `${difference > 0 ? "+" : "−"}${Number(Math.abs(difference).toPrecision(3))}`;
  // The style sheet writes it, so that it is no part of the number when that is copied or read aloud.
  return <i key={number} className="delta" data-delta={text} aria-hidden="true" />;
}
