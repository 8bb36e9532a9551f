// The rounds of a loop: a curve of any single number, and a scrubber that sets every block to one round.
import { useState } from "react";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import "./time.css";

const [WIDTH, HEIGHT] = [1000, 100];
const number = (value: number) => String(Number(value.toPrecision(5)));

export function TimePanel() {
  const timeline = useStudio((s) => s.timeline);
  const [chosen, setChosen] = useState("");
  if (!timeline) return null;
  const { rounds, series, shown, pinned } = timeline;
  const studio = useStudio.getState;
  const line = series.find((one) => one.name === chosen) ?? series.find((one) => /loss/.test(one.name)) ?? series[0];
  const ghosts = pinned.filter((one) => one.name === line?.name);
  const at = shown === null ? rounds.length - 1 : rounds.indexOf(shown);
  const all = [line?.values ?? [], ...ghosts.map((ghost) => ghost.values)].flat().filter((n) => n !== null);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const last = Math.max(rounds.at(-1) ?? 1, ...ghosts.map((ghost) => ghost.rounds.at(-1) ?? 1));
  const first = rounds[0] ?? 1;
  const x = (round: number) => (WIDTH * (round - first)) / Math.max(1, last - first);
  const y = (value: number) => HEIGHT - (HEIGHT * (value - low)) / (high - low || 1);
  const path = (some: readonly number[], values: readonly (number | null)[]) =>
    some.flatMap((round, place) => {
      const value = values[place];
      return value === null || value === undefined ? [] : [`${x(round).toFixed(1)},${y(value).toFixed(1)}`];
    });
  const value = line?.values[at];
  return (
    <section className="time-panel" aria-label="Rounds of the loop">
      <div className="time-head">
        {line ? (
          <select
            aria-label="What the curve shows"
            value={line.name}
            onChange={(event) => setChosen(event.target.value)}
          >
            {series.map((one) => (
              <option key={one.name}>{one.name}</option>
            ))}
          </select>
        ) : (
          <span>no single number changes in this loop</span>
        )}
        <output aria-label="Value in this round">
          round {rounds[at]}
          {value !== null && value !== undefined ? `: ${number(value)}` : ""}
        </output>
        {line && (
          <button
            type="button"
            onClick={() => studio().pinCurve(line.name)}
            title="Keep this curve, to compare the next"
          >
            Pin
          </button>
        )}
        {shown !== null && (
          <button type="button" onClick={() => void studio().showRound(null)}>
            Back to the last
          </button>
        )}
        <IconButton icon="close" title="Close the curve" onClick={() => studio().closeTimeline()} />
      </div>
      {line && (
        <div className="time-chart">
          <span className="time-high">{number(high)}</span>
          <span className="time-low">{number(low)}</span>
          <svg
            viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
            preserveAspectRatio="none"
            role="img"
            aria-label={`${line.name} over ${rounds.length} rounds, from ${number(line.values[0] ?? 0)} to ${number(line.values.at(-1) ?? 0)}`}
          >
            {ghosts.map((ghost, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: pinned curves have nothing else that tells them apart
              <polyline key={place} className="ghost" points={path(ghost.rounds, ghost.values).join(" ")} />
            ))}
            <polyline className="curve" points={path(rounds, line.values).join(" ")} />
            <line className="cursor" x1={x(rounds[at] ?? 0)} x2={x(rounds[at] ?? 0)} y1={0} y2={HEIGHT} />
          </svg>
        </div>
      )}
      <input
        type="range"
        aria-label="Round"
        min={0}
        max={rounds.length - 1}
        value={at}
        aria-valuetext={`round ${rounds[at]}`}
        onChange={(event) => void studio().showRound(rounds[Number(event.target.value)] ?? null)}
      />
    </section>
  );
}
