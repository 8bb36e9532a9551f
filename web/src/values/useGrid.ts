import { useCallback, useMemo, useRef, useState } from "react";
import { ParseError } from "./errors";
import * as grid from "./gridModel";

export type Editing = { text: string; whole: boolean } | null;

/** The state of the grid editor: the tensor with its undo, the place, the range, and what is being typed. */
export function useGrid(start: grid.Model, dtypes: readonly string[]) {
  const [history, setHistory] = useState(() => grid.begun(start));
  const [slice, setSlice] = useState<readonly number[]>([]);
  const [cursor, setCursor] = useState<grid.Place>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<grid.Place>({ row: 0, column: 0 });
  const [editing, setEditing] = useState<Editing>(null);
  const [message, setMessage] = useState("");
  const [loaded, setLoaded] = useState(false);

  const model = history.now;
  const sheet = useMemo(() => grid.sheetOf(model.shape, slice), [model.shape, slice]);
  const read = useRef<grid.Read | null>(null);
  const { tensor, problems } = useMemo(() => {
    read.current = grid.tensorOf(model, read.current);
    return read.current;
  }, [model]);
  const area = useMemo(() => grid.areaOf(anchor, cursor), [anchor, cursor]);

  const move = useCallback((to: grid.Place, extend = false) => {
    setCursor(to);
    if (!extend) setAnchor(to);
  }, []);

  const change = (next: grid.Model, at?: grid.Area) => {
    setHistory((now) => grid.changed(now, next));
    setMessage("");
    settle(next, at ?? area);
  };

  /** The cursor and the slice inside what there is. */
  const settle = (next: grid.Model, at: grid.Area) => {
    const kept = slice
      .slice(0, Math.max(0, next.shape.length - 2))
      .map((place, axis) => Math.max(0, Math.min(place, (next.shape[axis] as number) - 1)));
    setSlice(kept);
    const now = grid.sheetOf(next.shape, kept);
    const to = (row: number, column: number) => ({
      row: Math.max(0, Math.min(row, now.rows - 1)),
      column: Math.max(0, Math.min(column, now.columns - 1)),
    });
    setAnchor(to(at.bottom, at.right));
    setCursor(to(at.top, at.left));
  };

  /** Does something that may be refused; the refusal is said. */
  const tried = (work: () => void) => {
    try {
      work();
    } catch (problem) {
      if (!(problem instanceof ParseError)) throw problem;
      setMessage(problem.message);
    }
  };

  const single = { top: cursor.row, bottom: cursor.row, left: cursor.column, right: cursor.column };
  const rank = model.shape.length;
  const rowAxis = rank === 1 ? 0 : rank - 2;
  const columnAxis = rank - 1;

  return {
    model,
    tensor,
    problems,
    sheet,
    slice,
    cursor,
    area,
    editing,
    message,
    rank,
    loaded,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    setMessage,
    setEditing,
    move,
    selectArea(from: grid.Place, to: grid.Place) {
      setAnchor(from);
      setCursor(to);
    },
    setSlice(axis: number, place: number) {
      setSlice((now) => Array.from({ length: rank - 2 }, (_, at) => (at === axis ? place : (now[at] ?? 0))));
    },
    /** Begins with other values, which are then the oldest that undo reaches. */
    restart(next: grid.Model) {
      setHistory(grid.begun(next));
      setLoaded(true);
      settle(next, { top: 0, left: 0, bottom: 0, right: 0 });
    },
    undo: () => turn(grid.undone(history)),
    redo: () => turn(grid.redone(history)),
    type(text: string) {
      const before = model.texts[sheet.base + cursor.row * sheet.columns + cursor.column];
      if (text !== before) change(grid.setTexts(model, sheet, cursor, [[text]]), single);
    },
    fill: (text: string) => change(grid.fill(model, sheet, area, text)),
    clear: () => change(grid.fill(model, sheet, area, grid.zeroText(model.dtype))),
    setDtype: (dtype: string) => change({ ...model, dtype }),
    setShape: (text: string) => tried(() => change(grid.reshape(model, grid.parseShape(text)))),
    addRow: () => tried(() => grown(rowAxis, cursor.row)),
    addColumn: () => tried(() => grown(columnAxis, cursor.column)),
    removeRows() {
      if (sheet.rows > 0) change(grid.splice(model, rowAxis, area.top, area.bottom - area.top + 1, 0), single);
    },
    removeColumns() {
      if (sheet.columns > 0) change(grid.splice(model, columnAxis, area.left, area.right - area.left + 1, 0), single);
    },
    paste(text: string) {
      tried(() => {
        const pasted = grid.paste(model, slice, area, text, dtypes);
        change(pasted.model, pasted.area);
        const size = `[${pasted.model.shape.join(", ")}]`;
        setMessage(pasted.whole ? `Pasted a tensor of shape ${size}.` : "");
      });
    },
    copied: () => grid.copied(model, sheet, area),
    /** Goes to the next text that is no element. */
    toProblem() {
      const first = problems.keys().next().value;
      if (first === undefined) return;
      const { slice: at, at: place } = grid.placeOf(model.shape, first);
      setSlice(at);
      move(place);
    },
  };

  function turn(next: grid.History) {
    setHistory(next);
    setMessage("");
    settle(next.now, area);
  }

  function grown(axis: number, at: number) {
    const shape = model.shape.map((length, which) => (which === axis ? length + 1 : length));
    grid.parseShape(shape.join(", ")); // refuses what is too large
    const after = Math.min(at + 1, model.shape[axis] as number);
    const isRow = axis === rowAxis;
    const place = isRow ? { row: after, column: cursor.column } : { row: cursor.row, column: after };
    change(grid.splice(model, axis, after, 0, 1), grid.areaOf(place, place));
  }
}
