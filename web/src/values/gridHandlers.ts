/** What keys and the clipboard do in the grid editor while no cell is typed into. */
import type { ClipboardEvent, KeyboardEvent } from "react";
import { movedTo } from "./gridKeys";
import type { Grid } from "./useGrid";
import type { Typing } from "./useTyping";

export function gridHandlers(grid: Grid, typing: Typing, done: () => void) {
  const copy = (event: ClipboardEvent) => {
    if (event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", grid.copied());
    if (event.type === "cut") grid.clear();
  };

  return {
    cells: {
      onKeyDown(event: KeyboardEvent<HTMLDivElement>) {
        if (typing.editing || event.defaultPrevented) return;
        const { rows, columns } = grid.sheet;
        const control = event.ctrlKey || event.metaKey;
        const to = movedTo(event, grid.cursor, grid.sheet);
        let taken = true;
        if (to) grid.move(to, event.shiftKey);
        else if (event.key === "Tab") taken = typing.step(event.shiftKey);
        else if (event.key === "Enter" && !control) typing.stepDown(event.shiftKey);
        else if (event.key === "F2") typing.start(null);
        else if (event.key === "Delete" || event.key === "Backspace") grid.clear();
        else if (control && event.key.toLowerCase() === "a")
          grid.selectArea({ row: 0, column: 0 }, { row: rows - 1, column: columns - 1 });
        else if (event.key.length === 1 && !control && !event.altKey) typing.start(event.key);
        else taken = false;
        if (taken) event.preventDefault();
      },
    },
    dialog: {
      onKeyDown(event: KeyboardEvent<HTMLDialogElement>) {
        // Keys belong to the dialog while it is open, not to the page behind it.
        event.stopPropagation();
        const control = event.ctrlKey || event.metaKey;
        const key = event.key.toLowerCase();
        const isTyping = event.target instanceof HTMLInputElement;
        if (key === "tab") {
          // The grid has taken it for its next cell, or the way goes round inside the dialog.
          if (!event.defaultPrevented && !wrapped(event.currentTarget, event.shiftKey)) return;
        } else if (control && key === "enter") done();
        else if (control && !isTyping && key === "z") event.shiftKey ? grid.redo() : grid.undo();
        else if (control && !isTyping && key === "y") grid.redo();
        else return;
        event.preventDefault();
      },
      onPaste(event: ClipboardEvent) {
        const text = event.clipboardData.getData("text/plain");
        const intoField = event.target instanceof HTMLInputElement;
        if (text === "" || (intoField && !/[\t\n[{(]/.test(text.trim()))) return;
        event.preventDefault();
        typing.close();
        grid.paste(text);
      },
      onCopy: copy,
      onCut: copy,
    },
  };
}

/** From the last field of a dialog to its first, or back; false where the browser's own way leads on inside. */
function wrapped(dialog: HTMLElement, back: boolean): boolean {
  const all = [...dialog.querySelectorAll<HTMLElement>("button, input, select, [tabindex='0']")];
  const stops = all.filter((element) => !element.matches(":disabled"));
  const [from, to] = back ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
  if (document.activeElement !== from) return false;
  to?.focus();
  return true;
}
