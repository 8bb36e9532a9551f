import {
  type ClipboardEvent,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useId,
  useMemo,
  useReducer,
  useState,
} from "react";
import { api } from "../api/client";
import type { Value } from "../api/types";
import { flattened, shapeText, sizeOf } from "../values/cells";
import { kindOf } from "../values/dtypes";
import { formatNumber } from "../values/format";
import { movedTo } from "../values/gridKeys";
import type { Place } from "../values/gridModel";
import { isOdd } from "../values/rows";
import { VirtualGrid, type Visible } from "../values/VirtualGrid";
import { Pages } from "./pages";
import { firstAxis, matrixOf, rowIndex, rowOfFirst, type Slice } from "./slices";

type Props = {
  value: Value;
  slice: Slice;
  lensRows: readonly number[] | null;
  onRow: (row: number) => void;
};

/** All elements of a value, or of a slice of it; what is not seen is not fetched. */
export function ValueTable({ value, slice, lensRows, onRow }: Props) {
  const id = useId();
  const [cursor, setCursor] = useState<Place>({ row: 0, column: 0 });
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const { rows, columns } = matrixOf(slice.shape);
  const { hash, dtype } = value;

  const cells = useMemo(() => {
    // Small values came whole with the result.
    const here = slice.text === "" && value.table !== null ? flattened(value.table, kindOf(dtype) === "complex") : null;
    if (here) return { at: (row: number, column: number): unknown => here.cells[row * columns + column], pages: null };
    const pages = new Pages((query) => api.value(hash, query), dtype, slice.text, columns, redraw);
    return { at: (row: number, column: number) => pages.at(row, column), pages };
  }, [hash, dtype, value.table, slice.text, columns]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: another value, another place
  useEffect(() => setCursor({ row: 0, column: 0 }), [hash, slice.text]);

  const onVisible = useCallback(
    (seen: Visible) => cells.pages?.want(seen.firstRow, seen.lastRow, seen.firstColumn, seen.lastColumn),
    [cells],
  );

  const lit = useMemo(() => {
    if (!lensRows?.length) return null;
    const found = new Set<number>();
    const each = Math.max(1, rows / Math.max(1, slice.shape[0] ?? 1));
    for (const first of lensRows) {
      const start = rowOfFirst(slice, first);
      if (start === null) continue;
      const count = slice.picks[0]?.kind === "one" ? rows : each;
      for (let row = start; row < start + Math.min(count, 1000); row += 1) found.add(row);
    }
    return found;
  }, [lensRows, slice, rows]);

  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const to = movedTo(event, cursor, { rows, columns });
    if (to) setCursor(to);
    else if (event.key.toLowerCase() === "l" && !event.ctrlKey && !event.metaKey && !event.altKey)
      onRow(firstAxis(slice, cursor.row));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  if (sizeOf(slice.shape) === 0) return <p className="inspector-muted">empty {shapeText(slice.shape)}</p>;
  const here = cells.at(cursor.row, cursor.column);
  const onCopy = (event: ClipboardEvent) => {
    // Here a copy is the element's, not the selected block's.
    event.preventDefault();
    event.stopPropagation();
    event.clipboardData.setData("text/plain", exact(here));
  };
  return (
    <div className="inspector-table" onCopy={onCopy}>
      {cells.pages?.error && <p className="inspector-wrong">{cells.pages.error}</p>}
      <VirtualGrid
        id={id}
        label={`${value.name}, ${dtype} ${shapeText(slice.shape)}. L lights up what belongs to a row`}
        rows={rows}
        columns={columns}
        columnWidth={kindOf(dtype) === "complex" ? 132 : kindOf(dtype) === "string" ? 140 : 92}
        cell={(row, column) => {
          const cell = cells.at(row, column);
          if (cell === undefined) return { text: "…", muted: true };
          return { text: formatNumber(cell, dtype), title: String(cell), muted: cell === 0 || isOdd(cell) };
        }}
        rowHead={(row) => originalIndex(slice, row).join(", ")}
        rowHeadTitle="Click, or press L: what feeds this row and what it feeds lights up"
        columnHead={(column) => (slice.shape.length < 2 ? "value" : String(column))}
        cursor={cursor}
        litRows={lit}
        onCell={(at) => setCursor(at)}
        onRowHead={(row) => {
          setCursor({ row, column: cursor.column });
          onRow(firstAxis(slice, row));
        }}
        onKeyDown={onKeyDown}
        onVisible={onVisible}
      />
      <p className="inspector-exact">
        {shapeText([...rowIndex(slice.shape, cursor.row), ...(slice.shape.length > 1 ? [cursor.column] : [])])}{" "}
        <output>{exact(here)}</output>
      </p>
    </div>
  );
}

/** The index of a row of a slice in the whole value, so that a slice does not number its rows anew. */
function originalIndex(slice: Slice, row: number): number[] {
  const [, ...rest] = rowIndex(slice.shape, row);
  return slice.picks[0]?.kind === "one" ? rowIndex(slice.shape, row) : [firstAxis(slice, row), ...rest];
}

/** An element with all its digits. */
function exact(cell: unknown): string {
  if (cell === undefined) return "…";
  if (typeof cell === "boolean") return cell ? "True" : "False";
  return Array.isArray(cell) ? `${cell[0]} ${String(cell[1]).startsWith("-") ? "" : "+"}${cell[1]}j` : String(cell);
}
