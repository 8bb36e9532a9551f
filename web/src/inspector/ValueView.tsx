import { memo, useId, useMemo, useState } from "react";
import { api, reason } from "../api/client";
import type { Summary, Value } from "../api/types";
import { litRows } from "../lens";
import { useStudio } from "../store";
import { type Cell, nested, shapeText, sizeOf } from "../values/cells";
import { dtypeClass } from "../values/dtypes";
import { ParseError } from "../values/errors";
import { formatNumber, toNumPyText } from "../values/format";
import { HeatMap } from "../values/HeatMap";
import { Histogram } from "../values/Histogram";
import { bytesText } from "../values/rows";
import { Facts } from "./Facts";
import { wholeValue } from "./pages";
import { matrixOf, parseSlice, type Slice } from "./slices";
import { ValueTable } from "./ValueTable";

type Props = { node: string; value: Value; stale: boolean };
type Tab = "table" | "heat" | "histogram";
const NAMES: Record<Tab, string> = { table: "Table", heat: "Heat map", histogram: "Histogram" };
const MOST_COPIED = 100_000;

/** One output in full: table, pictures, numbers about it, and ways to take it elsewhere. */
export const ValueView = memo(function ValueView({ node, value, stale }: Props) {
  const id = useId();
  const [chosen, setChosen] = useState<Tab>("table");
  const [text, setText] = useState("");
  const lensRows = useStudio((state) => litRows(state.lens, node, value.name));
  const onRow = (row: number) => void useStudio.getState().look(node, value.name, [row]);

  const { slice, wrong } = useMemo((): { slice: Slice; wrong: string } => {
    try {
      return { slice: parseSlice(text, value.shape), wrong: "" };
    } catch (problem) {
      if (!(problem instanceof ParseError)) throw problem;
      return { slice: parseSlice("", value.shape), wrong: problem.message };
    }
  }, [text, value.shape]);

  const { summary } = value;
  const tabs: Tab[] = ["table"];
  if (summary?.heat) tabs.push("heat");
  if (summary?.histogram) tabs.push("histogram");
  const tab = tabs.includes(chosen) ? chosen : "table";

  return (
    <section className="inspector-value" aria-label={`Output ${value.name}`}>
      <h3>
        {value.name}{" "}
        <span className="inspector-slot">
          <span className={dtypeClass(value.dtype)}>{value.dtype}</span> {shapeText(value.shape)}
        </span>
        {stale && <span className="inspector-stale">stale: run again</span>}
      </h3>
      <div className="inspector-tabs" role="tablist" aria-label={`Views of ${value.name}`}>
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`${id}-${one}`}
            aria-selected={one === tab}
            aria-controls={`${id}-panel`}
            tabIndex={one === tab ? 0 : -1}
            onClick={() => setChosen(one)}
            onKeyDown={(event) => {
              const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
              if (step === 0) return;
              event.preventDefault();
              const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length] as Tab;
              setChosen(next);
              document.getElementById(`${id}-${next}`)?.focus();
            }}
          >
            {NAMES[one]}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${tab}`}>
        {tab === "table" && (
          <>
            {value.shape.length > 1 && (
              <div className="inspector-field">
                <label htmlFor={`${id}-slice`}>slice</label>
                <span className="inspector-input">
                  <input
                    id={`${id}-slice`}
                    value={text}
                    placeholder={value.shape.map(() => ":").join(", ")}
                    spellCheck={false}
                    aria-invalid={wrong !== "" || undefined}
                    onChange={(event) => setText(event.target.value)}
                    onKeyDown={(event) => !event.ctrlKey && event.stopPropagation()}
                  />
                  <span className="inspector-slot">{shapeText(slice.shape)}</span>
                </span>
                {wrong && <span className="inspector-wrong">{wrong}</span>}
              </div>
            )}
            <ValueTable value={value} slice={slice} lensRows={lensRows} onRow={onRow} />
          </>
        )}
        {tab === "heat" && summary?.heat && (
          <>
            <HeatMap
              heat={summary.heat}
              dtype={value.dtype}
              rows={value.shape[0] ?? 1}
              lensRows={lensRows}
              onRow={onRow}
              width={220}
              height={180}
              label={`${value.name} as colours`}
            />
            <p className="inspector-muted">{heatNote(value, summary)}</p>
          </>
        )}
        {tab === "histogram" && summary?.histogram && (
          <Histogram histogram={summary.histogram} dtype={value.dtype} width={260} height={120} />
        )}
      </div>
      {summary && <Statistics value={value} summary={summary} />}
      <div className="inspector-actions">
        <button type="button" onClick={() => void copy(value, slice)}>
          Copy as NumPy text
        </button>
        <a href={api.npyAddress(value.hash)} download={`${node.replaceAll("/", "_")}.${value.name}.npy`}>
          Save .npy
        </a>
      </div>
    </section>
  );
});

function heatNote(value: Value, summary: Summary): string {
  const { rows, columns } = matrixOf(value.shape);
  const heat = summary.heat;
  const smaller = heat !== null && (heat.rows < rows || heat.columns < columns);
  const said = smaller ? `${rows} × ${columns}, each field the mean of several. ` : "";
  return `${said}Hatched: no number. Click a row to see what feeds it.`;
}

async function copy(value: Value, slice: Slice): Promise<void> {
  const studio = useStudio.getState();
  const size = sizeOf(slice.shape);
  if (size > MOST_COPIED) {
    studio.toast(
      "info",
      `${size.toLocaleString("en")} elements are too many for text: save it as .npy, or take a slice.`,
    );
    return;
  }
  try {
    const { rows, columns } = matrixOf(slice.shape);
    const whole = slice.text === "" && value.table !== null;
    const found = whole
      ? value.table
      : nested((await wholeValue(value.hash, value.dtype, slice.text, rows, columns)) as Cell[], slice.shape);
    await navigator.clipboard.writeText(toNumPyText(found, value.dtype, slice.shape));
    studio.say(`Copied ${value.name} as NumPy text`);
    studio.toast("good", `Copied ${value.name} ${shapeText(slice.shape)} as NumPy text.`);
  } catch (problem) {
    studio.toast("danger", `Not copied: ${reason(problem)}`);
  }
}

function Statistics({ value, summary }: { value: Value; summary: Summary }) {
  const size = sizeOf(value.shape);
  if (size < 2) return null;
  const number = (one: number | string | null) =>
    one === null ? "–" : formatNumber(one, value.dtype === "bool" ? "float64" : value.dtype);
  const mean = summary.mean === null ? "–" : formatNumber(summary.mean, "float64");
  const share = `${Math.round((100 * summary.zeros) / size)} %`;
  const facts: [string, string][] = [
    ["min", number(summary.min)],
    ["max", number(summary.max)],
    ["mean", mean],
    ["zeros", `${summary.zeros.toLocaleString("en")} (${share})`],
    ...(summary.nans ? [["nan", summary.nans.toLocaleString("en")] as [string, string]] : []),
    ...(summary.infs ? [["inf", summary.infs.toLocaleString("en")] as [string, string]] : []),
    ["elements", size.toLocaleString("en")],
    ["size", bytesText(value.bytes)],
  ];
  return <Facts facts={facts} />;
}
