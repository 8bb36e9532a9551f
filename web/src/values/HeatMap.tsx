import { memo, type PointerEvent, useEffect, useRef } from "react";
import { colourTable, type Heat, heatPixels, rangeOf } from "./colours";
import { formatNumber } from "./format";
import { useDark } from "./theme";
import "./values.css";

type Props = {
  heat: Heat;
  dtype: string;
  /** Rows of the value's first axis; more than the picture's where it was made smaller. */
  rows: number;
  lensRows: readonly number[] | null;
  onRow?: ((row: number) => void) | undefined;
  width: number;
  height: number;
  label: string;
};

/** A matrix as a picture, with the bar that says what its colours mean. */
export const HeatMap = memo(function HeatMap({ heat, dtype, rows, lensRows, onRow, width, height, label }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const dark = useDark();
  useEffect(() => {
    paint(canvas.current, (pixelWidth, pixelHeight) => heatPixels(heat, pixelWidth, pixelHeight, dark));
  }, [heat, dark]);
  const rowAt = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const part = (event.clientY - box.top) / Math.max(1, box.height);
    return Math.min(rows - 1, Math.max(0, Math.floor(part * rows)));
  };
  const lit = lensRows ?? [];
  return (
    <div className="heat">
      <div className={onRow ? "heat-picture heat-clickable" : "heat-picture"} style={{ width, height }}>
        <canvas
          ref={canvas}
          className="heat-canvas"
          role="img"
          aria-label={label}
          width={width * 2}
          height={height * 2}
          onPointerUp={onRow && ((event) => onRow(rowAt(event)))}
        />
        {lit.length > 0 && lit.length <= 64 && (
          <svg className="heat-lens" viewBox="0 0 1 1" preserveAspectRatio="none" aria-hidden="true">
            {lit.map((row) => (
              <rect key={row} x="0" y={row / rows} width="1" height={Math.max(1 / rows, 2 / height)} />
            ))}
          </svg>
        )}
      </div>
      <ColourBar heat={heat} dtype={dtype} height={height} dark={dark} />
    </div>
  );
});

function ColourBar({ heat, dtype, height, dark }: { heat: Heat; dtype: string; height: number; dark: boolean }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const range = rangeOf(heat.values);
  const isDiverging = range?.diverging ?? false;
  useEffect(() => {
    paint(canvas.current, (width, tall) => {
      const table = colourTable(isDiverging, dark);
      const pixels = new Uint8ClampedArray(width * tall * 4);
      for (let at = 0; at < width * tall; at += 1) {
        const step = Math.round((1 - Math.floor(at / width) / Math.max(1, tall - 1)) * (table.length - 1));
        pixels.set([...(table[step] as readonly number[]), 255], at * 4);
      }
      return pixels;
    });
  }, [isDiverging, dark]);
  if (range === null) return <div className="heat-scale">no numbers</div>;
  return (
    <div className="heat-scale" style={{ height }}>
      <canvas ref={canvas} className="heat-bar" width={8} height={128} />
      <span className="heat-ends">
        <span>{formatNumber(range.most, dtype, 4)}</span>
        {range.diverging && <span>0</span>}
        <span>{range.most === range.least ? "" : formatNumber(range.least, dtype, 4)}</span>
      </span>
    </div>
  );
}

type Pixels = (width: number, height: number) => Uint8ClampedArray<ArrayBuffer>;

function paint(canvas: HTMLCanvasElement | null, pixels: Pixels): void {
  const context = canvas?.getContext("2d");
  if (!canvas || !context) return;
  context.putImageData(new ImageData(pixels(canvas.width, canvas.height), canvas.width, canvas.height), 0, 0);
}
