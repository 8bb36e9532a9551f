import {
  type ClipboardEvent,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Literal } from "../api/types";
import { shapeText, type Tensor } from "./cells";
import { indexOf, modelOf } from "./gridModel";
import { literalDtype, literalTensor, tensorLiteral } from "./literals";
import { useGrid } from "./useGrid";
import { type GridHandle, movedTo, VirtualGrid } from "./VirtualGrid";
import "./grid.css";

type Props = {
  literal: Literal;
  /** The dtype that the value has as it stands. */
  dtype: string;
  /** Those that may be chosen. */
  dtypes: string[];
  title: string;
  /** Fetches the values of a literal that only names its data file. */
  load?: (() => Promise<Tensor>) | undefined;
  onDone: (literal: Literal) => void;
  onCancel: () => void;
};

/** A tensor, element by element, in a dialog of its own: a spreadsheet that knows the dtype. */
export function GridEditor({ literal, dtype, dtypes, title, load, onDone, onCancel }: Props) {
  const id = useId();
  const dialog = useRef<HTMLDialogElement>(null);
  const cells = useRef<GridHandle>(null);
  const named = literalDtype(literal);
  const [start] = useState(() => {
    const tensor = literalTensor(literal, dtype);
    return {
      model: modelOf(tensor ?? { shape: [0], cells: [] }, named ?? dtype),
      elsewhere: tensor === null && literal !== undefined,
    };
  });
  const sheet = useGrid(start.model, dtypes);
  const { model, cursor, area, editing, problems, message } = sheet;

  const [loading, setLoading] = useState(start.elsewhere && load !== undefined);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when the dialog opens
  useEffect(() => {
    if (!loading || !load) return;
    let wanted = true;
    load()
      .then((tensor) => wanted && sheet.restart(modelOf(tensor, named ?? dtype)))
      .catch(
        (problem: unknown) => wanted && sheet.setMessage(problem instanceof Error ? problem.message : String(problem)),
      )
      .finally(() => wanted && setLoading(false));
    return () => {
      wanted = false;
    };
  }, []);

  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    if (element && !element.open) element.showModal();
    cells.current?.focus();
    return () => {
      element?.close(); // while it is open nothing outside can have the focus
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    };
  }, []);

  const done = () => {
    if (editing) {
      sheet.type(editing.text);
      // What is being typed goes in first, and is checked with the rest.
      close();
      setWaiting(true);
      return;
    }
    finish();
  };
  const [waiting, setWaiting] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, after the typed text has gone in
  useEffect(() => {
    if (!waiting) return;
    setWaiting(false);
    finish();
  }, [waiting]);

  const finish = () => {
    // Values that nobody has seen are not to be replaced by nothing.
    if (start.elsewhere && !sheet.canUndo) return onCancel();
    if (problems.size > 0) {
      sheet.toProblem();
      const first = problems.values().next().value ?? "";
      sheet.setMessage(
        problems.size === 1 ? `One cell is wrong: ${first}.` : `${problems.size} cells are wrong. The first: ${first}.`,
      );
      cells.current?.focus();
      return;
    }
    const says = named !== null || (model.dtype !== dtype && model.dtype !== "");
    onDone(tensorLiteral(sheet.tensor, says ? model.dtype : undefined));
  };

  const startEdit = (text: string | null) => {
    if (sheet.sheet.rows === 0 || sheet.sheet.columns === 0) return;
    const now = model.texts[sheet.sheet.base + cursor.row * sheet.sheet.columns + cursor.column] ?? "";
    closing.current = false;
    sheet.setEditing({ text: text ?? now, whole: text === null });
  };

  /** The cell's field goes; that it loses the focus then is no reason to take its text. */
  const closing = useRef(false);
  const close = () => {
    closing.current = true;
    sheet.setEditing(null);
    cells.current?.focus();
  };
  const commit = (text: string) => {
    sheet.type(text);
    close();
  };

  // ---------------------------------------------------------------- keys
  const step = (back: boolean): boolean => {
    const { rows, columns } = sheet.sheet;
    const place = cursor.row * columns + cursor.column + (back ? -1 : 1);
    if (place < 0 || place >= rows * columns) return false;
    sheet.move({ row: Math.floor(place / columns), column: place % columns });
    return true;
  };

  const onGridKey = (event: KeyboardEvent<HTMLDivElement>) => {
    if (editing || event.defaultPrevented) return;
    const control = event.ctrlKey || event.metaKey;
    const to = movedTo(event, cursor, sheet.sheet.rows, sheet.sheet.columns);
    let taken = true;
    if (to) sheet.move(to, event.shiftKey);
    else if (event.key === "Tab") taken = step(event.shiftKey);
    else if (event.key === "Enter" && !control)
      sheet.move(
        movedTo(
          { key: event.shiftKey ? "ArrowUp" : "ArrowDown", ctrlKey: false, metaKey: false },
          cursor,
          sheet.sheet.rows,
          sheet.sheet.columns,
        ) ?? cursor,
      );
    else if (event.key === "F2") startEdit(null);
    else if (event.key === "Delete" || event.key === "Backspace") sheet.clear();
    else if (control && event.key.toLowerCase() === "a") {
      sheet.selectArea({ row: 0, column: 0 }, { row: sheet.sheet.rows - 1, column: sheet.sheet.columns - 1 });
    } else if (event.key.length === 1 && !control && !event.altKey) startEdit(event.key);
    else taken = false;
    if (taken) event.preventDefault();
  };

  const onDialogKey = (event: KeyboardEvent<HTMLDialogElement>) => {
    // Keys belong to the dialog while it is open, not to the page behind it.
    event.stopPropagation();
    const control = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    const isTyping = event.target instanceof HTMLInputElement;
    if (key === "tab") {
      // The grid has taken it for its next cell, or the way goes round inside the dialog.
      if (!event.defaultPrevented && !wrapped(event.currentTarget, event.shiftKey)) return;
    } else if (control && key === "enter") done();
    else if (control && !isTyping && key === "z") event.shiftKey ? sheet.redo() : sheet.undo();
    else if (control && !isTyping && key === "y") sheet.redo();
    else return;
    event.preventDefault();
  };

  const onCellKey = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.ctrlKey || event.metaKey) return;
    const text = event.currentTarget.value;
    if (event.key === "Escape") {
      close();
    } else if (event.key === "Enter") {
      commit(text);
      sheet.move({ row: clamp(cursor.row + (event.shiftKey ? -1 : 1), sheet.sheet.rows), column: cursor.column });
    } else if (event.key === "Tab") {
      commit(text);
      step(event.shiftKey);
    } else if (!editing?.whole && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      commit(text);
      sheet.move({
        row: clamp(cursor.row + (event.key === "ArrowUp" ? -1 : 1), sheet.sheet.rows),
        column: cursor.column,
      });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  // ---------------------------------------------------------------- clipboard
  const onPaste = (event: ClipboardEvent) => {
    const text = event.clipboardData.getData("text/plain");
    const intoField = event.target instanceof HTMLInputElement;
    if (text === "" || (intoField && !/[\t\n[{(]/.test(text.trim()))) return;
    event.preventDefault();
    close();
    sheet.paste(text);
  };
  const onCopy = (event: ClipboardEvent, cut: boolean) => {
    if (event.target instanceof HTMLInputElement) return;
    event.preventDefault();
    event.clipboardData.setData("text/plain", sheet.copied());
    if (cut) sheet.clear();
  };

  // ---------------------------------------------------------------- the sheet
  const columnWidth = useMemo(() => widthOf(model.texts), [model.texts]);
  const offset = (row: number, column: number) => sheet.sheet.base + row * sheet.sheet.columns + column;
  const cell = useCallback(
    (row: number, column: number) => {
      const at = sheet.sheet.base + row * sheet.sheet.columns + column;
      const problem = problems.get(at);
      return { text: model.texts[at] ?? "", title: problem, problem: problem !== undefined };
    },
    [sheet.sheet, problems, model.texts],
  );
  const here = problems.get(offset(cursor.row, cursor.column));
  const index = indexOf(model.shape, sheet.slice, cursor);
  const hasCells = sheet.sheet.rows > 0 && sheet.sheet.columns > 0;

  return (
    <dialog
      ref={dialog}
      className="grid-editor"
      aria-labelledby={`${id}-title`}
      onCancel={(event) => {
        event.preventDefault();
        onCancel();
      }}
      onKeyDown={onDialogKey}
      onPaste={onPaste}
      onCopy={(event) => onCopy(event, false)}
      onCut={(event) => onCopy(event, true)}
    >
      <header className="grid-editor-head">
        <h2 id={`${id}-title`}>{title}</h2>
        <DtypeChoice dtype={model.dtype} dtypes={dtypes} onChange={sheet.setDtype} />
        <ShapeField shape={model.shape} onChange={sheet.setShape} />
      </header>
      <div className="grid-editor-tools" role="toolbar" aria-label="Rows and columns">
        <button type="button" onClick={sheet.addRow} disabled={sheet.rank === 0}>
          {sheet.rank === 1 ? "Add element" : "Add row"}
        </button>
        <button type="button" onClick={sheet.removeRows} disabled={sheet.rank === 0 || sheet.sheet.rows === 0}>
          {sheet.rank === 1 ? "Remove elements" : "Remove rows"}
        </button>
        {sheet.rank > 1 && (
          <>
            <button type="button" onClick={sheet.addColumn}>
              Add column
            </button>
            <button type="button" onClick={sheet.removeColumns} disabled={sheet.sheet.columns === 0}>
              Remove columns
            </button>
          </>
        )}
        <FillField onFill={sheet.fill} disabled={!hasCells} />
        <span className="grid-editor-gap" />
        <button type="button" onClick={sheet.undo} disabled={!sheet.canUndo} title="Ctrl+Z">
          Undo
        </button>
        <button type="button" onClick={sheet.redo} disabled={!sheet.canRedo} title="Ctrl+Y">
          Redo
        </button>
      </div>
      {sheet.rank > 2 && <Slices shape={model.shape} slice={sheet.slice} onChange={sheet.setSlice} />}
      {loading && <p className="grid-editor-note">The values are being fetched.</p>}
      {start.elsewhere && !loading && !sheet.loaded && !sheet.canUndo && (
        <p className="grid-editor-note">
          These values are not in the page but in a data file. What you enter takes their place.
        </p>
      )}
      {hasCells ? (
        <VirtualGrid
          ref={cells}
          id={`${id}-cells`}
          label={`${title}, ${model.dtype} ${shapeText(model.shape)}`}
          rows={sheet.sheet.rows}
          columns={sheet.sheet.columns}
          columnWidth={columnWidth}
          cell={cell}
          rowHead={(row) => (sheet.rank === 0 ? "[]" : String(row))}
          columnHead={(column) => (sheet.rank < 2 ? "value" : String(column))}
          cursor={cursor}
          area={area}
          editor={
            editing && (
              <CellField
                text={editing.text}
                label={`element ${shapeText(index)}`}
                onChange={(text) => sheet.setEditing({ ...editing, text })}
                onKeyDown={onCellKey}
                onLeave={commitOnLeave}
              />
            )
          }
          onCell={(place, extend) => {
            if (editing) commit(editing.text);
            sheet.move(place, extend);
          }}
          onOpen={() => startEdit(null)}
          onRowHead={(row, extend) =>
            sheet.selectArea({ row: extend ? area.top : row, column: 0 }, { row, column: sheet.sheet.columns - 1 })
          }
          onColumnHead={(column, extend) =>
            sheet.selectArea({ row: 0, column: extend ? area.left : column }, { row: sheet.sheet.rows - 1, column })
          }
          onKeyDown={onGridKey}
        />
      ) : (
        <div className="grid-editor-empty">
          <p>empty {shapeText(model.shape)}</p>
          <p>Paste cells, a Python list or {"{{1,2},{3,4}}"}, or add a row.</p>
        </div>
      )}
      <footer className="grid-editor-foot">
        <output
          className={here || problems.size > 0 ? "grid-editor-said grid-editor-wrong" : "grid-editor-said"}
          aria-live="polite"
        >
          {message || (here ? `${shapeText(index)}: ${here}` : hasCells ? summary(area, index, problems.size) : "")}
        </output>
        <button type="button" onClick={onCancel} title="Esc">
          Cancel
        </button>
        <button type="button" className="grid-editor-done" onClick={done} title="Ctrl+Enter">
          Done
        </button>
      </footer>
    </dialog>
  );

  function commitOnLeave(text: string) {
    if (!editing || closing.current) return;
    sheet.type(text);
    sheet.setEditing(null);
  }
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

function clamp(place: number, length: number): number {
  return Math.max(0, Math.min(place, length - 1));
}

function summary(
  area: { top: number; left: number; bottom: number; right: number },
  index: number[],
  wrong: number,
): string {
  const rows = area.bottom - area.top + 1;
  const columns = area.right - area.left + 1;
  const place = rows * columns > 1 ? `${rows} × ${columns} selected` : `element ${shapeText(index)}`;
  return wrong > 0 ? `${place}; ${wrong === 1 ? "1 cell is" : `${wrong} cells are`} wrong` : place;
}

/** Columns wide enough for what is in most of them. */
function widthOf(texts: readonly string[]): number {
  let longest = 6;
  for (let at = 0; at < Math.min(texts.length, 2000); at += 1)
    longest = Math.max(longest, (texts[at] as string).length);
  return Math.min(26, longest) * 7.4 + 22;
}

// ------------------------------------------------------------------ fields
function DtypeChoice({
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

function ShapeField({ shape, onChange }: { shape: readonly number[]; onChange: (text: string) => void }) {
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

function FillField({ onFill, disabled }: { onFill: (text: string) => void; disabled: boolean }) {
  const [text, setText] = useState("0");
  return (
    <span className="grid-editor-field">
      <input
        aria-label="Value to fill in"
        value={text}
        spellCheck={false}
        size={6}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="button" disabled={disabled} onClick={() => onFill(text)} title="Into every selected cell">
        Fill
      </button>
    </span>
  );
}

type SliceProps = {
  shape: readonly number[];
  slice: readonly number[];
  onChange: (axis: number, place: number) => void;
};

function Slices({ shape, slice, onChange }: SliceProps) {
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

function CellField({ text, label, onChange, onKeyDown, onLeave }: CellFieldProps) {
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
