import { useCallback, useMemo, useRef, useState } from "react";
import { shapeText } from "./cells";
import { ParseError } from "./errors";
import * as grid from "./gridModel";

export type Grid = ReturnType<typeof useGrid>;

/** The state of the grid editor: the tensor with its undo, the place, the range, and what is said about it. */
export function useGrid(start: grid.Model, dtypes: readonly string[]) {
  const [history, setHistory] = useState(() => grid.begun(start));
  const [slice, setSlice] = useState<readonly number[]>([]);
  const [cursor, setCursor] = useState<grid.Place>({ row: 0, column: 0 });
  const [anchor, setAnchor] = useState<grid.Place>({ row: 0, column: 0 });
  const [{ message, isWrong }, setSaid] = useState({ message: "", isWrong: false });
  const setMessage = (said: string, wrong = false) => setSaid({ message: said, isWrong: wrong });
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
      .map((place, axis) => grid.clamp(place, next.shape[axis] as number));
    setSlice(kept);
    const now = grid.sheetOf(next.shape, kept);
    setAnchor(grid.within(now, at.bottom, at.right));
    setCursor(grid.within(now, at.top, at.left));
  };

  /** Does something that may be refused; the refusal is said. */
  const tried = (work: () => void) => {
    try {
      work();
    } catch (problem) {
      if (!(problem instanceof ParseError)) throw problem;
      setMessage(problem.message, true);
    }
  };

  const single = grid.areaOf(cursor, cursor);
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
    message,
    isWrong,
    rank,
    loaded,
    canUndo: history.past.length > 0,
    canRedo: history.future.length > 0,
    setMessage,
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
      if (text !== model.texts[grid.offsetOf(sheet, cursor)])
        change(grid.setTexts(model, sheet, cursor, [[text]]), single);
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
        setMessage(pasted.whole ? `Pasted a tensor of shape ${shapeText(pasted.model.shape)}.` : "");
      });
    },
    copied: () => grid.copied(model, sheet, area),
    /** Goes to the first text that is no element, and says what is wrong. */
    toProblem() {
      const [first] = problems;
      if (first === undefined) return;
      const { slice: at, at: place } = grid.placeOf(model.shape, first[0]);
      setSlice(at);
      move(place);
      const said = problems.size === 1 ? "One cell is wrong:" : `${problems.size} cells are wrong. The first:`;
      setMessage(`${said} ${first[1]}.`, true);
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
