import { useCallback, useEffect, useId, useMemo, useRef, useState } from "react";
import { useModal } from "../dialogs/useModal";
import { shapeText } from "./cells";
import { CellField, DtypeChoice, ShapeField, Slices } from "./GridFields";
import { GridTools } from "./GridTools";
import { gridHandlers } from "./gridHandlers";
import { type Area, indexOf, offsetOf } from "./gridModel";
import { type Edited, useGridLiteral } from "./useGridLiteral";
import { useTyping } from "./useTyping";
import { type GridHandle, VirtualGrid } from "./VirtualGrid";
import "./grid.css";

/** A tensor, element by element, in a dialog of its own: a spreadsheet that knows the dtype. */
export function GridEditor({ title, ...edited }: Edited & { title: string }) {
  const id = useId();
  const cells = useRef<GridHandle>(null);
  const dialog = useModal(() => cells.current?.focus());
  const { grid, note, finish } = useGridLiteral(edited);
  const { model, sheet, cursor, area, problems, message, isWrong, rank } = grid;
  const typing = useTyping(grid, cells);
  const { editing } = typing;

  // What is being typed goes in first, and is checked with the rest.
  const [leaving, setLeaving] = useState(false); // Esc was pressed once
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is changed after that is asked about again
  useEffect(() => setLeaving(false), [model]);
  const [ending, setEnding] = useState(false);
  const done = () => {
    if (editing) typing.commit(editing.text);
    setEnding(true);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, after the typed text has gone in
  useEffect(() => {
    if (!ending) return;
    setEnding(false);
    cells.current?.focus();
    finish();
  }, [ending]);
  const handlers = gridHandlers(grid, typing, done);

  const columnWidth = useMemo(() => widthOf(model.texts), [model.texts]);
  const cell = useCallback(
    (row: number, column: number) => {
      const at = offsetOf(sheet, { row, column });
      const problem = problems.get(at);
      return { text: model.texts[at] ?? "", title: problem, problem: problem !== undefined };
    },
    [sheet, problems, model.texts],
  );
  const here = problems.get(offsetOf(sheet, cursor));
  const index = indexOf(model.shape, grid.slice, cursor);
  const wrong = isWrong || (!message && (here !== undefined || problems.size > 0));
  const hasCells = sheet.rows > 0 && sheet.columns > 0;

  return (
    <dialog
      ref={dialog}
      className="grid-editor"
      aria-labelledby={`${id}-title`}
      onCancel={(event) => {
        event.preventDefault();
        if (!grid.canUndo || leaving) return edited.onCancel();
        setLeaving(true);
        grid.setMessage("Esc again drops what was changed here; Ctrl+Enter keeps it.");
      }}
      {...handlers.dialog}
    >
      <header className="grid-editor-head">
        <h2 id={`${id}-title`}>{title}</h2>
        <DtypeChoice dtype={model.dtype} dtypes={edited.dtypes} onChange={grid.setDtype} />
        <ShapeField shape={model.shape} onChange={grid.setShape} />
      </header>
      <GridTools grid={grid} />
      {rank > 2 && <Slices shape={model.shape} slice={grid.slice} onChange={grid.setSlice} />}
      {note && <p className="grid-editor-note">{note}</p>}
      {hasCells ? (
        <VirtualGrid
          ref={cells}
          id={`${id}-cells`}
          label={`${title}, ${model.dtype} ${shapeText(model.shape)}`}
          rows={sheet.rows}
          columns={sheet.columns}
          columnWidth={columnWidth}
          cell={cell}
          rowHead={(row) => (rank === 0 ? "[]" : String(row))}
          columnHead={(column) => (rank < 2 ? "value" : String(column))}
          cursor={cursor}
          area={area}
          editor={
            editing && (
              <CellField
                text={editing.text}
                label={`element ${shapeText(index)}`}
                onChange={typing.change}
                onKeyDown={typing.onKeyDown}
                onLeave={typing.leave}
              />
            )
          }
          onCell={(place, extend) => {
            if (editing) typing.commit(editing.text);
            grid.move(place, extend);
          }}
          onOpen={() => typing.start(null)}
          onRowHead={(row, extend) =>
            grid.selectArea({ row: extend ? area.top : row, column: 0 }, { row, column: sheet.columns - 1 })
          }
          onColumnHead={(column, extend) =>
            grid.selectArea({ row: 0, column: extend ? area.left : column }, { row: sheet.rows - 1, column })
          }
          {...handlers.cells}
        />
      ) : (
        <div className="grid-editor-empty">
          <p>empty {shapeText(model.shape)}</p>
          <p>Paste cells, a Python list or {"{{1,2},{3,4}}"}, or add a row.</p>
        </div>
      )}
      <footer className="grid-editor-foot">
        <output className={wrong ? "grid-editor-said grid-editor-wrong" : "grid-editor-said"} aria-live="polite">
          {message || (here ? `${shapeText(index)}: ${here}` : hasCells ? summary(area, index, problems.size) : "")}
        </output>
        <button type="button" onClick={edited.onCancel} title="Esc">
          Cancel
        </button>
        <button type="button" className="grid-editor-done" onClick={done} title="Ctrl+Enter">
          Done
        </button>
      </footer>
    </dialog>
  );
}

function summary(area: Area, index: number[], wrong: number): string {
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
