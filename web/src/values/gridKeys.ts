/** Where keys take the cursor of a grid. */
import { type Place, type Size, within } from "./gridModel";

export type Pressed = { key: string; ctrlKey?: boolean; metaKey?: boolean };

/** The place that a key moves the cursor to, or null if it is no key for moving. */
export function movedTo(event: Pressed, at: Place, size: Size): Place | null {
  const far = event.ctrlKey || event.metaKey;
  const to = (row: number, column: number) => within(size, row, column);
  switch (event.key) {
    case "ArrowUp":
      return to(far ? 0 : at.row - 1, at.column);
    case "ArrowDown":
      return to(far ? size.rows : at.row + 1, at.column);
    case "ArrowLeft":
      return to(at.row, far ? 0 : at.column - 1);
    case "ArrowRight":
      return to(at.row, far ? size.columns : at.column + 1);
    case "Home":
      return to(far ? 0 : at.row, 0);
    case "End":
      return to(far ? size.rows : at.row, size.columns);
    case "PageUp":
      return to(at.row - 12, at.column);
    case "PageDown":
      return to(at.row + 12, at.column);
    default:
      return null;
  }
}

/** The cell that Tab goes to, row by row, or null beyond the first and the last. */
export function nextCell(at: Place, { rows, columns }: Size, back: boolean): Place | null {
  const place = at.row * columns + at.column + (back ? -1 : 1);
  return place < 0 || place >= rows * columns ? null : { row: Math.floor(place / columns), column: place % columns };
}
