import { memo } from "react";
import { formatNumber } from "./format";
import "./values.css";

type Props = {
  histogram: { edges: readonly number[]; counts: readonly number[] };
  dtype: string;
  width: number;
  height: number;
};

/** How often values fall between which edges. */
export const Histogram = memo(function Histogram({ histogram, dtype, width, height }: Props) {
  const { edges, counts } = histogram;
  const most = Math.max(1, ...counts);
  const step = width / Math.max(1, counts.length);
  const bars = counts
    .map((count, at) => {
      if (count === 0) return "";
      const tall = Math.max(1, (count / most) * (height - 1));
      const left = (at * step).toFixed(2);
      return `M${left} ${height}v${-tall.toFixed(2)}h${Math.max(1, step - 1).toFixed(2)}v${tall.toFixed(2)}z`;
    })
    .join("");
  const [first, last] = [edges[0] ?? 0, edges.at(-1) ?? 0];
  const label = `Histogram from ${formatNumber(first, dtype)} to ${formatNumber(last, dtype)}, at most ${most} in a bar`;
  return (
    <figure className="histogram" style={{ width }}>
      <span className="histogram-most">{most.toLocaleString("en")} at most in a bar</span>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
        <path className="histogram-bars" d={bars} />
        {first < 0 && last > 0 && (
          <line
            className="histogram-zero"
            x1={(-first / (last - first)) * width}
            x2={(-first / (last - first)) * width}
            y1="0"
            y2={height}
          />
        )}
      </svg>
      <figcaption className="histogram-ends">
        <span>{formatNumber(first, dtype, 4)}</span>
        <span>{formatNumber(last, dtype, 4)}</span>
      </figcaption>
    </figure>
  );
});
