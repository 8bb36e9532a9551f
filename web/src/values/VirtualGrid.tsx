import {
  type KeyboardEvent,
  memo,
  type PointerEvent,
  type ReactNode,
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Area, Place } from "./gridModel";
import "./grid.css";

export const ROW_HEIGHT = 24;
const SPARE = 4; // rows and columns drawn beyond the edge, so that fast scrolling finds them there

export type GridCell = { text: string; title?: string | undefined; problem?: boolean; muted?: boolean };
export type Visible = { firstRow: number; lastRow: number; firstColumn: number; lastColumn: number };
export type GridHandle = { focus(): void };

type Props = {
  ref?: Ref<GridHandle>;
  id: string;
  label: string;
  rows: number;
  columns: number;
  columnWidth: number;
  cell: (row: number, column: number) => GridCell;
  rowHead: (row: number) => string;
  columnHead: (column: number) => string;
  rowHeadTitle?: string;
  cursor: Place;
  area?: Area | null;
  litRows?: ReadonlySet<number> | null;
  /** What stands in the cursor's cell instead of its text, while it is edited. */
  editor?: ReactNode;
  onCell: (at: Place, extend: boolean) => void;
  onOpen?: (at: Place) => void;
  onRowHead?: (row: number, extend: boolean) => void;
  onColumnHead?: (column: number, extend: boolean) => void;
  onKeyDown: (event: KeyboardEvent<HTMLDivElement>) => void;
  onVisible?: (visible: Visible) => void;
};

/** A table of any length of which only what is seen is drawn; one place has the cursor. */
export function VirtualGrid(props: Props) {
  const { id, rows, columns, columnWidth, cursor, area, litRows, onVisible } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ top: 0, left: 0, width: 400, height: 300 });
  useImperativeHandle(props.ref, () => ({ focus: () => scroller.current?.focus({ preventScroll: true }) }), []);

  const measure = useCallback(() => {
    const box = scroller.current;
    if (!box) return;
    const next = { top: box.scrollTop, left: box.scrollLeft, width: box.clientWidth, height: box.clientHeight };
    setView((now) => {
      const same =
        now.top === next.top && now.left === next.left && now.width === next.width && now.height === next.height;
      return same ? now : next;
    });
  }, []);
  useLayoutEffect(() => {
    measure();
    if (typeof ResizeObserver === "undefined" || !scroller.current) return;
    const observer = new ResizeObserver(measure);
    observer.observe(scroller.current);
    return () => observer.disconnect();
  }, [measure]);

  const headWidth = headOf(rows, props.rowHead);
  const firstRow = Math.max(0, Math.floor(view.top / ROW_HEIGHT) - SPARE);
  const lastRow = Math.min(rows - 1, Math.ceil((view.top + view.height) / ROW_HEIGHT) + SPARE);
  const firstColumn = Math.max(0, Math.floor(view.left / columnWidth) - SPARE);
  const lastColumn = Math.min(columns - 1, Math.ceil((view.left + view.width) / columnWidth) + SPARE);

  useEffect(() => {
    onVisible?.({ firstRow, lastRow, firstColumn, lastColumn });
  }, [onVisible, firstRow, lastRow, firstColumn, lastColumn]);

  // The cursor stays in view when it moves, not when someone scrolls away from it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: measures of the box do not move the cursor
  useLayoutEffect(() => {
    const box = scroller.current;
    if (!box) return;
    const top = cursor.row * ROW_HEIGHT;
    const left = cursor.column * columnWidth;
    const roomHeight = box.clientHeight - ROW_HEIGHT;
    const roomWidth = box.clientWidth - headWidth;
    if (top < box.scrollTop) box.scrollTop = top;
    else if (top + ROW_HEIGHT > box.scrollTop + roomHeight) box.scrollTop = top + ROW_HEIGHT - roomHeight;
    if (left < box.scrollLeft) box.scrollLeft = left;
    else if (left + columnWidth > box.scrollLeft + roomWidth) box.scrollLeft = left + columnWidth - roomWidth;
  }, [cursor.row, cursor.column]);

  const columnPlaces: number[] = [];
  for (let column = firstColumn; column <= lastColumn; column += 1) columnPlaces.push(column);
  const rowPlaces: number[] = [];
  for (let row = firstRow; row <= lastRow; row += 1) rowPlaces.push(row);
  const width = headWidth + columns * columnWidth;
  const at = { left: headWidth, width: columnWidth };

  const point = (event: PointerEvent<HTMLDivElement>, begins: boolean) => {
    const target = (event.target as HTMLElement).closest<HTMLElement>("[data-r]");
    if (!target || event.button > 0 || (event.target as HTMLElement).closest("input")) return;
    const place = { row: Number(target.dataset.r), column: Number(target.dataset.c) };
    const extend = event.shiftKey || !begins;
    if (place.row < 0) {
      if (begins) props.onColumnHead?.(place.column, extend);
    } else if (place.column < 0) {
      if (begins) props.onRowHead?.(place.row, extend);
    } else {
      props.onCell(place, extend);
    }
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: a native table cannot draw only the rows that are seen
    <div
      ref={scroller}
      id={id}
      className="vgrid"
      role="grid"
      aria-label={props.label}
      aria-rowcount={rows + 1}
      aria-colcount={columns + 1}
      aria-multiselectable={area === undefined ? undefined : true}
      aria-activedescendant={rows > 0 && columns > 0 ? `${id}-${cursor.row}-${cursor.column}` : undefined}
      tabIndex={0}
      onScroll={measure}
      onKeyDown={props.onKeyDown}
      onPointerDown={(event) => point(event, true)}
      onPointerMove={(event) => {
        if (event.buttons === 1) point(event, false);
      }}
      onDoubleClick={(event) => {
        const target = (event.target as HTMLElement).closest<HTMLElement>("[role=gridcell]");
        if (target) props.onOpen?.({ row: Number(target.dataset.r), column: Number(target.dataset.c) });
      }}
    >
      <div role="presentation" className="vgrid-all" style={{ width, height: (rows + 1) * ROW_HEIGHT }}>
        {/* biome-ignore lint/a11y/useSemanticElements: see the grid */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: the grid has the focus and names its active cell */}
        <div role="row" aria-rowindex={1} className="vgrid-head" style={{ width }}>
          {/* biome-ignore lint/a11y/useSemanticElements: see the grid */}
          {/* biome-ignore lint/a11y/useFocusableInteractive: see the row */}
          <span role="columnheader" aria-colindex={1} className="vgrid-corner" style={{ width: headWidth }}>
            #
          </span>
          {columnPlaces.map((column) => (
            // biome-ignore lint/a11y/useSemanticElements: see the grid
            // biome-ignore lint/a11y/useFocusableInteractive: see the row
            <span
              key={column}
              role="columnheader"
              aria-colindex={column + 2}
              data-r={-1}
              data-c={column}
              className={inside(area, cursor.row, column) ? "vgrid-name vgrid-current" : "vgrid-name"}
              style={{ left: at.left + column * columnWidth, width: columnWidth }}
            >
              {props.columnHead(column)}
            </span>
          ))}
        </div>
        {rowPlaces.map((row) => {
          const isHere = cursor.row === row;
          const isInside = area ? row >= area.top && row <= area.bottom : false;
          return (
            <GridRow
              key={row}
              id={id}
              row={row}
              width={width}
              headWidth={headWidth}
              columnWidth={columnWidth}
              firstColumn={firstColumn}
              lastColumn={lastColumn}
              cell={props.cell}
              head={props.rowHead(row)}
              headTitle={props.rowHeadTitle}
              cursorColumn={isHere ? cursor.column : -1}
              editor={isHere ? props.editor : null}
              areaLeft={isInside ? (area?.left ?? -1) : -1}
              areaRight={isInside ? (area?.right ?? -1) : -1}
              isLit={litRows?.has(row) ?? false}
            />
          );
        })}
      </div>
    </div>
  );
}

type RowProps = {
  id: string;
  row: number;
  width: number;
  headWidth: number;
  columnWidth: number;
  firstColumn: number;
  lastColumn: number;
  cell: Props["cell"];
  head: string;
  headTitle: string | undefined;
  /** -1 where the cursor is in another row. */
  cursorColumn: number;
  editor: ReactNode;
  areaLeft: number;
  areaRight: number;
  isLit: boolean;
};

/** A row is drawn again only when something about it changes; scrolling past it is no change. */
const GridRow = memo(function GridRow(props: RowProps) {
  const { id, row, headWidth, columnWidth, cursorColumn, areaLeft, areaRight } = props;
  const columns: number[] = [];
  for (let column = props.firstColumn; column <= props.lastColumn; column += 1) columns.push(column);
  return (
    // biome-ignore lint/a11y/useSemanticElements: see the grid
    // biome-ignore lint/a11y/useFocusableInteractive: see the first row
    <div
      role="row"
      aria-rowindex={row + 2}
      className="vgrid-row"
      data-lit={props.isLit || undefined}
      style={{ top: (row + 1) * ROW_HEIGHT, width: props.width }}
    >
      {/* biome-ignore lint/a11y/useSemanticElements: see the grid */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: see the first row */}
      <span
        role="rowheader"
        aria-colindex={1}
        data-r={row}
        data-c={-1}
        title={props.headTitle}
        className={areaLeft >= 0 ? "vgrid-rowname vgrid-current" : "vgrid-rowname"}
        style={{ width: headWidth }}
      >
        {props.head}
      </span>
      {columns.map((column) => {
        const isCursor = cursorColumn === column;
        const shown = props.cell(row, column);
        return (
          // biome-ignore lint/a11y/useSemanticElements: see the grid
          // biome-ignore lint/a11y/useFocusableInteractive: see the first row
          <span
            key={column}
            id={`${id}-${row}-${column}`}
            role="gridcell"
            aria-colindex={column + 2}
            aria-selected={isCursor || (areaLeft >= 0 && column >= areaLeft && column <= areaRight)}
            aria-invalid={shown.problem || undefined}
            data-r={row}
            data-c={column}
            data-cursor={isCursor || undefined}
            data-muted={shown.muted || undefined}
            title={shown.title}
            className="vgrid-cell"
            style={{ left: headWidth + column * columnWidth, width: columnWidth }}
          >
            {isCursor && props.editor ? props.editor : shown.text}
          </span>
        );
      })}
    </div>
  );
});

function inside(area: Area | null | undefined, row: number, column: number): boolean {
  if (!area) return false;
  return row >= area.top && row <= area.bottom && column >= area.left && column <= area.right;
}

/** Wide enough for the last row's name. */
function headOf(rows: number, rowHead: (row: number) => string): number {
  return Math.max(36, 18 + 7.5 * Math.max(rowHead(0).length, rowHead(Math.max(0, rows - 1)).length));
}
