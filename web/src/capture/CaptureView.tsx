// A record of gradbag.capture: what a model did with its tables, step by step.
import { useEffect, useState } from "react";
import { api, reason } from "../api/client";
import type { Captured, CapturedRow, CapturedStep, CapturedTable } from "../api/types";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import "./capture.css";

const [WIDTH, HEIGHT] = [1000, 80];
const MOST_IDS = 24;
const short = (value: number) => String(Number(value.toPrecision(4)));

export function CaptureView({ path }: { path: string }) {
  const [step, setStep] = useState<number | null>(null);
  const [found, setFound] = useState<Captured | null>(null);
  const [problem, setProblem] = useState("");
  const [name, setName] = useState("");
  useEffect(() => {
    let asked = true;
    api.captured(path, step).then(
      (answer) => asked && setFound(answer),
      (why) => asked && setProblem(reason(why)),
    );
    return () => {
      asked = false;
    };
  }, [path, step]);
  const table = found?.tables.find((one) => one.name === name) ?? found?.tables[0];
  return (
    <section className="capture" aria-label={`Record ${path}`}>
      <header>
        <h2>{path}</h2>
        {found && (
          <span className="quiet">
            {found.count} steps, of which {Math.max(0, ...found.tables.map((one) => one.steps.length))} are kept
          </span>
        )}
        <IconButton icon="close" title="Back to the page" onClick={() => useStudio.getState().openCapture(null)} />
      </header>
      {problem && <p role="alert">{problem}</p>}
      {found && (
        <div className="capture-tables">
          {found.tables.map((one) => (
            <button type="button" key={one.name} aria-pressed={one === table} onClick={() => setName(one.name)}>
              <b>{one.name}</b>
              <span>
                {one.rows} × {one.columns} {one.dtype}
              </span>
              <span>
                {one.touched} touched, {one.rows - one.touched} never
              </span>
            </button>
          ))}
        </div>
      )}
      {found && table && <Table table={table} rows={found.rows[table.name] ?? []} step={found.step} onStep={setStep} />}
    </section>
  );
}

type Shown = { table: CapturedTable; rows: CapturedRow[]; step: number; onStep(step: number): void };

function Table({ table, rows, step, onStep }: Shown) {
  const steps = table.steps;
  const at = Math.max(
    0,
    steps.findIndex((one) => one.step === step),
  );
  const now = steps[at];
  return (
    <>
      <Strip table={table} />
      {steps.length > 1 && (
        <div className="capture-time">
          <Curves steps={steps} at={at} />
          <input
            type="range"
            aria-label="Step"
            aria-valuetext={`step ${now?.step}`}
            min={0}
            max={steps.length - 1}
            value={at}
            onChange={(event) => onStep(steps[Number(event.target.value)]?.step ?? step)}
          />
        </div>
      )}
      {now && <Facts step={now} />}
      <Rows rows={rows} table={table.name} step={step} />
    </>
  );
}

function Strip({ table }: { table: CapturedTable }) {
  const never = table.never.map(([first = 0, end = 0]) => (end === first + 1 ? `${first}` : `${first} to ${end - 1}`));
  return (
    <figure>
      <svg
        className="capture-strip"
        viewBox={`0 0 ${table.strip.length} 1`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Rows that were looked up: ${table.touched} of ${table.rows}`}
      >
        {table.strip.map((share, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a part of the table is its place
          <rect key={place} x={place} y={0} width={1} height={1} opacity={share && 0.25 + 0.75 * share} />
        ))}
      </svg>
      <figcaption>{never.length ? `Never looked up: ${never.join(", ")}` : "Every row was looked up."}</figcaption>
    </figure>
  );
}

function Curves({ steps, at }: { steps: CapturedStep[]; at: number }) {
  const high = Math.max(...steps.map((one) => one.norm), 1e-300);
  const x = (place: number) => (WIDTH * place) / Math.max(1, steps.length - 1);
  const line = (of: (step: CapturedStep) => number) =>
    steps.map((one, place) => `${x(place).toFixed(1)},${(HEIGHT - (HEIGHT * of(one)) / high).toFixed(1)}`).join(" ");
  return (
    <svg
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={`Norm of the gradient over ${steps.length} steps, at most ${short(high)}`}
    >
      <polyline className="curve" points={line((one) => one.norm)} />
      <polyline className="ghost" points={line((one) => one.largest)} />
      <line className="cursor" x1={x(at)} x2={x(at)} y1={0} y2={HEIGHT} />
    </svg>
  );
}

function Facts({ step }: { step: CapturedStep }) {
  const facts: [string, number, boolean][] = [
    ["step", step.step, false],
    ["bags", step.bags, false],
    ["empty bags", step.empty, step.empty > 0],
    ["ids", step.entries, false],
    ["different ids", step.unique, false],
    ["ids twice in a bag", step.repeated, step.repeated > 0],
    ["bags that are not finite", step.bad_bags, step.bad_bags > 0],
    ["rows with a gradient", step.gradient_rows, false],
    ["rows that are not finite", step.bad_rows, step.bad_rows > 0],
    ["norm of the gradient", step.norm, false],
    ["median row", step.median, false],
    ["largest row", step.largest, false],
  ];
  return (
    <dl className="capture-facts">
      {facts.map(([what, value, odd]) => (
        <div key={what} className={odd ? "odd" : ""}>
          <dt>{what}</dt>
          <dd>{short(value)}</dd>
        </div>
      ))}
    </dl>
  );
}

function Rows({ rows, table, step }: { rows: CapturedRow[]; table: string; step: number }) {
  if (!rows.length) return <p className="quiet">No gradient came to this table in step {step}.</p>;
  const largest = Math.max(...rows.map((row) => row.norm ?? 0)) || 1;
  return (
    <table className="capture-rows">
      <caption>
        The largest gradients of {table} in step {step}
      </caption>
      <thead>
        <tr>
          <th scope="col">row</th>
          <th scope="col">norm</th>
          <th scope="col">of the median</th>
          <th scope="col">times</th>
          <th scope="col">from the bags</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr
            key={row.row}
            title={row.values.map((value) => (value === null ? "not finite" : short(value))).join("  ")}
          >
            <th scope="row">{row.row}</th>
            <td className={row.norm === null ? "odd" : ""}>
              {row.norm === null ? "not finite" : short(row.norm)}
              <svg className="bar" viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true">
                <rect width={(100 * (row.norm ?? largest)) / largest} height={1} />
              </svg>
            </td>
            <td>{row.share === null ? "" : `${short(row.share)} ×`}</td>
            <td>{row.times}</td>
            <td>
              {row.bags.map((bag) => (
                <span key={`${bag.call}.${bag.number}`} className="bag">
                  <b>{bag.number}</b>
                  {bag.ids.slice(0, MOST_IDS).map((id, place) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: an id may stand in a bag twice
                    <span key={place} className={id === row.row ? "own" : ""}>
                      {id}
                    </span>
                  ))}
                  {bag.ids.length > MOST_IDS && `and ${bag.ids.length - MOST_IDS} more`}
                </span>
              ))}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
