// A value as a narrow strip of colours: enough to see from afar that it is there, and what changes.
import { memo } from "react";
import type { Value } from "../api/types";
import { flattened } from "./cells";
import { colourTable, rangeOf, stepOf } from "./colours";
import { useDark } from "./theme";

const MOST = 16;

export const Strip = memo(function Strip({ value }: { value: Value }) {
  const dark = useDark();
  const cells = flattened(value.table)?.cells.slice(0, MOST) ?? value.summary?.heat?.values.slice(0, MOST) ?? [];
  const numbers = cells.map((cell) => (typeof cell === "number" && Number.isFinite(cell) ? cell : null));
  const range = rangeOf(numbers);
  if (!range) return null;
  const colours = colourTable(range.diverging, dark);
  return (
    <svg className="strip" viewBox={`0 0 ${numbers.length} 1`} preserveAspectRatio="none" aria-hidden="true">
      {numbers.map((number, place) => {
        const colour = number === null ? null : colours[stepOf(number, range)];
        // biome-ignore lint/suspicious/noArrayIndexKey: a cell is its place
        return colour ? <rect key={place} x={place} width="1.02" height="1" fill={`rgb(${colour.join()})`} /> : null;
      })}
    </svg>
  );
});
