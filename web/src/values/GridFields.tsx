/** The fields around the grid, and the one inside a cell that is typed into. */
import { type KeyboardEvent, useLayoutEffect, useRef, useState } from "react";
import { clamp } from "./gridModel";

export function DtypeChoice({
  dtype,
  dtypes,
  onChange,
}: {
  dtype: string;
  dtypes: string[];
  onChange: (dtype: string) => void;
}) {
  const all = dtypes.includes(dtype) || dtype === "" ? dtypes : [dtype, ...dtypes];
  return (
    <label className="grid-editor-field">
      dtype
      <select
        value={dtype}
        disabled={all.length < 2 && dtype !== ""}
        onChange={(event) => onChange(event.target.value)}
      >
        {dtype === "" && <option value="">as the block wants</option>}
        {all.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

export function ShapeField({ shape, onChange }: { shape: readonly number[]; onChange: (text: string) => void }) {
  const now = shape.join(", ");
  const [text, setText] = useState(now);
  const [shown, setShown] = useState(now);
  if (shown !== now) {
    setShown(now);
    setText(now);
  }
  return (
    <label
      className="grid-editor-field"
      title="As many elements: they are put in the new shape. More or fewer: zeros are added, or the rest is cut off."
    >
      shape
      <input
        value={text}
        placeholder="scalar"
        spellCheck={false}
        onChange={(event) => setText(event.target.value)}
        onBlur={() => text !== now && onChange(text)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.ctrlKey) return;
          event.preventDefault();
          onChange(text);
        }}
      />
    </label>
  );
}

type SliceProps = {
  shape: readonly number[];
  slice: readonly number[];
  onChange: (axis: number, place: number) => void;
};

export function Slices({ shape, slice, onChange }: SliceProps) {
  return (
    <div className="grid-editor-slices">
      <span>Slice</span>
      {shape.slice(0, -2).map((length, axis) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: an axis is its place
        <label key={axis} className="grid-editor-field">
          axis {axis}
          <input
            type="number"
            min={0}
            max={Math.max(0, length - 1)}
            value={slice[axis] ?? 0}
            onChange={(event) => onChange(axis, clamp(Math.floor(Number(event.target.value)) || 0, length))}
          />
          <span>of {length}</span>
        </label>
      ))}
      <span>, :, :</span>
    </div>
  );
}

type CellFieldProps = {
  text: string;
  label: string;
  onChange: (text: string) => void;
  onKeyDown: (event: KeyboardEvent<HTMLInputElement>) => void;
  onLeave: (text: string) => void;
};

export function CellField({ text, label, onChange, onKeyDown, onLeave }: CellFieldProps) {
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    field.current?.focus({ preventScroll: true });
    const end = field.current?.value.length ?? 0;
    field.current?.setSelectionRange(end, end);
  }, []);
  return (
    <input
      ref={field}
      className="grid-editor-cell"
      aria-label={label}
      value={text}
      spellCheck={false}
      onChange={(event) => onChange(event.target.value)}
      onKeyDown={onKeyDown}
      onBlur={(event) => onLeave(event.target.value)}
    />
  );
}
