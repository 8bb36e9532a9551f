import { memo } from "react";
import type { Value } from "../api/types";
import { shapeText, sizeOf } from "./cells";
import { Changed, Delta, useChanged } from "./Delta";
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
  onRow: (row: number, cell?: number[]) => void;
  /** An entry that a term of the lens comes from. */
  litCell?: readonly number[] | null;
  compact?: boolean;
  /** Whether what has changed since it was last drawn flashes. */
  live?: boolean;
  /** Whether it stands beside others, and so is called by its name. */
  named?: boolean;
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
    a.named === b.named &&
    a.live === b.live &&
    (a.litCell?.join() ?? "") === (b.litCell?.join() ?? "") &&
    (a.lensRows === b.lensRows || (a.lensRows?.join() ?? "") === (b.lensRows?.join() ?? ""))
  );
}

/** What an output holds, small enough to stand in its block. */
export const Preview = memo(function Preview({ value, lensRows, onRow, compact, named, litCell, live }: Props) {
  const room = compact ? COMPACT : WIDE;
  const changed = useChanged(value, live ?? false);
  return (
    <Changed value={changed}>
      <div className="preview" data-compact={compact || undefined}>
        <div className="preview-kind">
          {named && <b className="preview-name">{value.name}</b>}
          <span className={dtypeClass(value.dtype)}>{value.dtype}</span>
          <span>{shapeText(value.shape)}</span>
          {value.summary !== null && value.summary.nans > 0 && (
            <span className="preview-odd">{value.summary.nans} nan</span>
          )}
          {value.summary !== null && value.summary.infs > 0 && (
            <span className="preview-odd">{value.summary.infs} inf</span>
          )}
        </div>
        <Body value={value} lensRows={lensRows} onRow={onRow} room={room} litCell={litCell ?? null} />
      </div>
    </Changed>
  );
}, sameProps);

type BodyProps = Omit<Props, "compact" | "named"> & { room: typeof COMPACT };

function Body({ value, lensRows, onRow, room, litCell }: BodyProps) {
  const { shape, dtype, summary } = value;
  const size = sizeOf(shape);
  if (size === 0) return <div className="preview-empty">empty {shapeText(shape)}</div>;
  if (shape.length === 0) return <Scalar value={value} lit={lensRows !== null && lensRows.length > 0} onRow={onRow} />;
  const at = { lensRows, onRow, litCell: litCell ?? null };
  if (value.table !== null) {
    if (shape.length === 1) return <Vector value={value} {...at} most={room.elements} />;
    const shown = shownTable(value.table, dtype, shape, room, lensRows);
    if (shown) return <Table shown={shown} rank={shape.length} label={label(value)} {...at} />;
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

function Scalar({ value, lit, onRow }: { value: Value; lit: boolean; onRow: Props["onRow"] }) {
  const cell = value.table ?? value.summary?.mean ?? null;
  return (
    <button
      type="button"
      tabIndex={-1}
      className="preview-scalar"
      data-lit={lit || undefined}
      data-cell=""
      onClick={() => onRow(0, [])}
    >
      {formatNumber(cell, value.dtype)}
      <Delta place="" />
    </button>
  );
}

type Rows = { lensRows: readonly number[] | null; onRow: Props["onRow"]; litCell: readonly number[] | null };

/** A vector runs along a line: each element is a row of the first axis. */
function Vector({ value, lensRows, onRow, litCell, most }: Rows & { value: Value; most: number }) {
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
            data-source={litCell?.[0] === row || undefined}
            data-cell={row}
            onClick={() => onRow(row, [row])}
          >
            {texts[0]?.trim() || "“”"}
            <Delta place={row} />
          </button>
        </li>
      ))}
      {(shown.gaps.at(-1) as number) > 0 && <li className="preview-gap">… {shown.gaps.at(-1)} more</li>}
    </ul>
  );
}

function Table({
  shown,
  rank,
  label: name,
  lensRows,
  onRow,
  litCell,
}: Rows & { shown: Shown; rank: number; label: string }) {
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
                <Cell key={column} text={text} place={[row, column]} rank={rank} onRow={onRow} litCell={litCell} />
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

type CellProps = Pick<Rows, "onRow" | "litCell"> & { text: string; place: [number, number]; rank: number };

/** In a matrix a click means this very number; of more axes only rows can be told apart here. */
function Cell({ text, place, rank, onRow, litCell }: CellProps) {
  const isSource = rank === 2 && litCell?.[0] === place[0] && litCell[1] === place[1];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the inspector's table has keys for it
    <td
      data-source={isSource || undefined}
      data-cell={rank === 2 ? place.join() : undefined}
      onClick={(event) => {
        if (rank !== 2) return;
        event.stopPropagation();
        onRow(place[0], place);
      }}
    >
      {text}
      {rank === 2 && <Delta place={place.join()} />}
    </td>
  );
}

function Gap({ rows, width }: { rows: number; width: number }) {
  return (
    <tr className="preview-gap">
      <td colSpan={width}>… {rows === 1 ? "1 row" : `${rows} rows`}</td>
    </tr>
  );
}
