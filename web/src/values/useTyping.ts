import { type KeyboardEvent, type RefObject, useRef, useState } from "react";
import { movedTo, nextCell } from "./gridKeys";
import { offsetOf } from "./gridModel";
import type { Grid } from "./useGrid";
import type { GridHandle } from "./VirtualGrid";

/** `whole`: the text that stood there is edited, so that arrows move in it; else they go on to the next cell. */
export type Editing = { text: string; whole: boolean };
export type Typing = ReturnType<typeof useTyping>;

/** The cell that is typed into, from a first key or F2 on: Enter, Tab and leaving it take its text, Esc drops it. */
export function useTyping(grid: Grid, cells: RefObject<GridHandle | null>) {
  const { cursor, sheet } = grid;
  const [editing, setEditing] = useState<Editing | null>(null);
  const closing = useRef(false); // that the field loses the focus as it goes is no reason to take its text

  const close = () => {
    closing.current = true;
    setEditing(null);
    cells.current?.focus();
  };
  const commit = (text: string) => {
    grid.type(text);
    close();
  };
  /** To the next cell of the sheet, or the one before; false past its ends. */
  const step = (back: boolean): boolean => {
    const to = nextCell(cursor, sheet, back);
    if (to) grid.move(to);
    return to !== null;
  };
  const stepDown = (up: boolean) => grid.move(movedTo({ key: up ? "ArrowUp" : "ArrowDown" }, cursor, sheet) ?? cursor);

  return {
    editing,
    close,
    commit,
    step,
    stepDown,
    /** Begins with a text, or with the one that is there. */
    start(text: string | null) {
      if (sheet.rows === 0 || sheet.columns === 0) return;
      closing.current = false;
      setEditing({ text: text ?? grid.model.texts[offsetOf(sheet, cursor)] ?? "", whole: text === null });
    },
    change: (text: string) => setEditing((now) => now && { ...now, text }),
    leave(text: string) {
      if (!editing || closing.current) return;
      grid.type(text);
      setEditing(null);
    },
    onKeyDown(event: KeyboardEvent<HTMLInputElement>) {
      if (event.ctrlKey || event.metaKey) return;
      const text = event.currentTarget.value;
      const isArrow = event.key === "ArrowDown" || event.key === "ArrowUp";
      if (event.key === "Escape") close();
      else if (event.key === "Enter" || (isArrow && !editing?.whole)) {
        commit(text);
        stepDown(isArrow ? event.key === "ArrowUp" : event.shiftKey);
      } else if (event.key === "Tab") {
        commit(text);
        step(event.shiftKey);
      } else return;
      event.preventDefault();
      event.stopPropagation();
    },
  };
}
