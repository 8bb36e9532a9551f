import { memo } from "react";
import type { Value } from "../api/types";
import { shapeText, sizeOf } from "./cells";
import { dtypeClass } from "./dtypes";
import { formatNumber } from "./format";
import { HeatMap } from "./HeatMap";
import { Histogram } from "./Histogram";
import { bytesText, type Shown, shownTable } from "./rows";
import "./values.css";

type Props = {
  value: Value;
  /** Rows of the first axis that the lens lights up. */
  lensRows: readonly number[] | null;
  onRow: (row: number) => void;
  compact?: boolean;
};

// Inside a block there is room for about a hundred pixels of height.
const COMPACT = { rows: 5, columns: 6, elements: 18, digits: 4, width: 112, height: 70 };
const WIDE = { rows: 64, columns: 64, elements: 64, digits: 6, width: 240, height: 180 };

function sameProps(a: Props, b: Props): boolean {
  // A handler is new with every drawing of a block; what it does with a row stays.
  return (
    a.value.hash === b.value.hash &&
    a.value.name === b.value.name &&
    a.compact === b.compact &&
    (a.lensRows === b.lensRows || (a.lensRows?.join() ?? "") === (b.lensRows?.join() ?? ""))
  );
}

/** What an output holds, small enough to stand in its block. */
export const Preview = memo(function Preview({ value, lensRows, onRow, compact }: Props) {
  const room = compact ? COMPACT : WIDE;
  return (
    <div className="preview" data-compact={compact || undefined}>
      <div className="preview-kind">
        <span className={dtypeClass(value.dtype)}>{value.dtype}</span>
        <span>{shapeText(value.shape)}</span>
        {value.summary !== null && value.summary.nans > 0 && (
          <span className="preview-odd">{value.summary.nans} nan</span>
        )}
        {value.summary !== null && value.summary.infs > 0 && (
          <span className="preview-odd">{value.summary.infs} inf</span>
        )}
      </div>
      <Body value={value} lensRows={lensRows} onRow={onRow} room={room} />
    </div>
  );
}, sameProps);

function Body({ value, lensRows, onRow, room }: Omit<Props, "compact"> & { room: typeof COMPACT }) {
  const { shape, dtype, summary } = value;
  const size = sizeOf(shape);
  if (size === 0) return <div className="preview-empty">empty {shapeText(shape)}</div>;
  if (shape.length === 0) return <Scalar value={value} lit={lensRows !== null && lensRows.length > 0} onRow={onRow} />;
  if (value.table !== null) {
    if (shape.length === 1) return <Vector value={value} lensRows={lensRows} onRow={onRow} most={room.elements} />;
    const shown = shownTable(value.table, dtype, shape, room, lensRows);
    if (shown) return <Table shown={shown} label={label(value)} lensRows={lensRows} onRow={onRow} />;
  }
  if (summary?.heat && shape.length > 1) {
    return (
      <HeatMap
        heat={summary.heat}
        dtype={dtype}
        rows={shape[0] as number}
        lensRows={lensRows}
        onRow={onRow}
        width={room.width}
        height={room.height}
        label={`${label(value)} as colours from ${summary.min} to ${summary.max}`}
      />
    );
  }
  if (summary?.histogram) {
    return (
      <Histogram histogram={summary.histogram} dtype={dtype} width={room.width * 1.45} height={room.height * 0.7} />
    );
  }
  return (
    <div className="preview-empty">
      {size.toLocaleString("en")} values, {bytesText(value.bytes)}
    </div>
  );
}

function label(value: Value): string {
  return `${value.name}, ${value.dtype} ${shapeText(value.shape)}`;
}

function Scalar({ value, lit, onRow }: { value: Value; lit: boolean; onRow: (row: number) => void }) {
  const cell = value.table ?? value.summary?.mean ?? null;
  return (
    <button type="button" tabIndex={-1} className="preview-scalar" data-lit={lit || undefined} onClick={() => onRow(0)}>
      {formatNumber(cell, value.dtype)}
    </button>
  );
}

type Rows = { lensRows: readonly number[] | null; onRow: (row: number) => void };

/** A vector runs along a line: each element is a row of the first axis. */
function Vector({ value, lensRows, onRow, most }: Rows & { value: Value; most: number }) {
  const shown = shownTable(value.table, value.dtype, value.shape, { rows: most, columns: 1, digits: 4 }, lensRows);
  if (shown === null) return null;
  return (
    <ul className="preview-vector" aria-label={label(value)}>
      {shown.rows.map(({ row, texts }, at) => (
        <li key={row}>
          {(shown.gaps[at] as number) > 0 && <span className="preview-gap">…</span>}
          <button
            type="button"
            tabIndex={-1}
            className="preview-cell"
            title={`${value.name}[${row}]`}
            data-lit={lensRows?.includes(row) || undefined}
            onClick={() => onRow(row)}
          >
            {texts[0]?.trim() || "“”"}
          </button>
        </li>
      ))}
      {(shown.gaps.at(-1) as number) > 0 && <li className="preview-gap">… {shown.gaps.at(-1)} more</li>}
    </ul>
  );
}

function Table({ shown, label: name, lensRows, onRow }: Rows & { shown: Shown; label: string }) {
  const width = (shown.rows[0]?.texts.length ?? 0) + (shown.hiddenColumns > 0 ? 2 : 1);
  return (
    <table className="preview-table" aria-label={name}>
      <tbody>
        {shown.rows.flatMap(({ row, texts }, at) => {
          const gap = shown.gaps[at] as number;
          const line = (
            <tr key={row} data-row={row} data-lit={lensRows?.includes(row) || undefined} onClick={() => onRow(row)}>
              <th scope="row">
                <button
                  type="button"
                  tabIndex={-1}
                  aria-label={`row ${row}: show what feeds it`}
                  onMouseDown={(event) => event.preventDefault()}
                >
                  {row}
                </button>
              </th>
              {texts.map((text, column) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a column is its place
                <td key={column}>{text}</td>
              ))}
              {shown.hiddenColumns > 0 && (
                <td className="preview-gap">{at === 0 ? `… ${shown.hiddenColumns} more` : "…"}</td>
              )}
            </tr>
          );
          return gap > 0 ? [<Gap key={`before ${row}`} rows={gap} width={width} />, line] : [line];
        })}
        {(shown.gaps.at(-1) as number) > 0 && <Gap rows={shown.gaps.at(-1) as number} width={width} />}
      </tbody>
    </table>
  );
}

function Gap({ rows, width }: { rows: number; width: number }) {
  return (
    <tr className="preview-gap">
      <td colSpan={width}>… {rows === 1 ? "1 row" : `${rows} rows`}</td>
    </tr>
  );
}
