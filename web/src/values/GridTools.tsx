import { useState } from "react";
import type { Grid } from "./useGrid";

/** Rows and columns come and go here, cells are filled, and steps are taken back. */
export function GridTools({ grid }: { grid: Grid }) {
  const { rank, sheet } = grid;
  return (
    <div className="grid-editor-tools" role="toolbar" aria-label="Rows and columns">
      <button type="button" onClick={grid.addRow} disabled={rank === 0}>
        {rank === 1 ? "Add element" : "Add row"}
      </button>
      <button type="button" onClick={grid.removeRows} disabled={rank === 0 || sheet.rows === 0}>
        {rank === 1 ? "Remove elements" : "Remove rows"}
      </button>
      {rank > 1 && (
        <>
          <button type="button" onClick={grid.addColumn}>
            Add column
          </button>
          <button type="button" onClick={grid.removeColumns} disabled={sheet.columns === 0}>
            Remove columns
          </button>
        </>
      )}
      <FillField onFill={grid.fill} disabled={sheet.rows === 0 || sheet.columns === 0} />
      <span className="grid-editor-gap" />
      <button type="button" onClick={grid.undo} disabled={!grid.canUndo} title="Ctrl+Z">
        Undo
      </button>
      <button type="button" onClick={grid.redo} disabled={!grid.canRedo} title="Ctrl+Y">
        Redo
      </button>
    </div>
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
