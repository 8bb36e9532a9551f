// A block: title, a dot and a label per argument at the left, outputs at the right, settings, and the result after a run.
import type { NodeProps } from "@xyflow/react";
import { memo, useContext, useDeferredValue, useMemo } from "react";
import type { Problem } from "../api/types";
import { litRows } from "../lens/words";
import { argumentAt } from "../page/links";
import { hintOf, onlyDtype } from "../page/ports";
import { nodeState, useStudio } from "../store";
import type { LensState, NodeState, Result, Store } from "../store/types";
import { Icon, IconButton } from "../toolbar/Icon";
import { shapeText } from "../values/cells";
import { Preview } from "../values/Preview";
import { Strip } from "../values/Strip";
import { dragNumber, heldTensor } from "./dragNumber";
import { timeText } from "./dtype";
import { type Distance, Far } from "./far";
import { type BlockNode, rowMiddle } from "./nodes";
import { InputPort, OutputPort } from "./Port";
import { Setting } from "./Setting";

const MOST_VALUES = 3;

const STATE_TEXT: Record<NodeState, string> = {
  idle: "",
  queued: "waiting",
  running: "running",
  done: "",
  cached: "cached",
  stale: "stale",
  error: "error",
};

const STATE_HELP: Record<NodeState, string> = {
  idle: "Has not run yet",
  queued: "Waits for its turn",
  running: "Is running",
  done: "Has run",
  cached: "Nothing changed, so the value comes from the cache",
  stale: "The page has changed since this value was computed: run again",
  error: "Could not run",
};

export const Block = memo(function Block(props: NodeProps<BlockNode>) {
  const distance = useContext(Far);
  // A block that comes into view is an empty box for a moment: filling it must not hold up the frame.
  const filled = useDeferredValue(distance, "far" as Distance);
  if (distance === "near" && filled === "near") return <NearBlock {...props} />;
  return <FarBlock {...props} far={distance !== "near"} told={distance === "middle" && filled === "middle"} />;
});

/** Just as large, with nothing in it but the name; from half-way also the op, the shape and a strip of the values. */
function FarBlock({ data, selected, height, far, told }: NodeProps<BlockNode> & { far: boolean; told: boolean }) {
  const { name, box } = data;
  const state = useStudio((s) => nodeState(s, name));
  const lit = useStudio((s) => isLit(s.lens, name));
  const wrong = useStudio((s) => s.problemsOf.has(name));
  const gradient = useStudio((s) => s.ops.get(s.document.nodes[name]?.op ?? "")?.gradient);
  return (
    <div
      className={`block ${far ? "far" : "shell"} ${wrong ? "error" : state}${selected ? " selected" : ""}${lit ? ` ${lit}` : ""}${gradient ? " gradient" : ""}`}
      style={{ width: box.width, height: height ?? box.height }}
      data-node={name}
      data-state={state}
    >
      <div className="far-title" title={name}>
        {far ? shortName(name) : name}
      </div>
      {told && <Told name={name} />}
      {/* Where the dots are, for the canvas to find: they are too small to see or to use. */}
      {box.rows.inputs.map((row, place) => (
        <i
          key={row.port}
          className="stub target"
          data-handleid={row.port}
          data-handlepos="left"
          style={{ top: rowMiddle(place) - 7 }}
        />
      ))}
      {box.rows.outputs.map((port, place) => (
        <i
          key={port}
          className="stub source"
          data-handleid={port}
          data-handlepos="right"
          style={{ top: rowMiddle(place) - 7 }}
        />
      ))}
    </div>
  );
}

/** The last part of a name that says where it stands: "loss" of "gradients/loss". */
function shortName(name: string): string {
  return name.slice(name.lastIndexOf("/") + 1) || name;
}

function Told({ name }: { name: string }) {
  const op = useStudio((s) => s.document.nodes[name]?.op ?? "");
  const value = useStudio((s) => s.results[name]?.outputs[0]);
  const slot = useStudio((s) => s.check?.nodes[name]?.outputs[0]);
  const shape = value?.shape ?? slot?.shape;
  return (
    <>
      <div className="far-op">{op}</div>
      {shape && <div className="far-shape">{shapeText(shape)}</div>}
      {value && <Strip value={value} />}
    </>
  );
}

function NearBlock({ data, selected }: NodeProps<BlockNode>) {
  const { name, box } = data;
  const entry = useStudio((s) => s.document.nodes[name]);
  const op = useStudio((s) => s.ops.get(s.document.nodes[name]?.op ?? ""));
  const known = useStudio((s) => s.catalogue !== null);
  const checked = useStudio((s) => s.check?.nodes[name]);
  const problems = useStudio((s) => s.problemsOf.get(name));
  const result = useStudio((s) => s.results[name]);
  const state = useStudio((s) => nodeState(s, name));
  const next = useStudio((s) => s.run.next === name);
  const open = useStudio((s) => s.opened.includes(name));
  const lit = useStudio((s) => isLit(s.lens, name));
  // What a run has said of a block does not hold any more once the block has changed.
  const said = state === "stale" ? undefined : result;
  const byPort = useMemo(() => problemsByPort(problems, said), [problems, said]);
  if (!entry) return null;
  const { rows } = box;
  const lines = Math.max(rows.inputs.length, rows.outputs.length);
  const tensorDtype = checked?.outputs[0]?.dtype ?? "";
  const own = byPort.get("");
  return (
    <div
      className={`block ${state}${selected ? " selected" : ""}${next ? " next" : ""}${known && !op ? " unknown" : ""}${op?.gradient ? " gradient" : ""}${lit ? ` ${lit}` : ""}`}
      style={{ width: box.width }}
      data-node={name}
      data-state={state}
    >
      <div className="block-head">
        <div className="block-names">
          {/* biome-ignore lint/a11y/noStaticElementInteractions: F2 does the same */}
          <div
            className="block-title"
            title={`${name}\nDouble-click or F2 to rename`}
            onDoubleClick={(event) => {
              event.stopPropagation();
              useStudio.getState().openDialog({ kind: "rename-node", node: name });
            }}
          >
            {name}
          </div>
          <div className="block-op" title={op?.summary ?? (known ? "This op is not known here" : "")}>
            {op?.title ?? entry.op}
            {known && !op ? " · not known" : ""}
          </div>
        </div>
        <Badge state={state} seconds={result?.seconds ?? 0} />
        {(checked?.parts ?? 0) > 0 && (
          <button
            type="button"
            className="ghost tiny nodrag parts-button"
            aria-expanded={open}
            aria-label={`Parts of ${name}`}
            title={open ? "Fold it" : `Show the ${checked?.parts} nodes that it is made of`}
            onClick={() => useStudio.getState().openParts(name, !open)}
          >
            <Icon name="down" />
          </button>
        )}
        <div className="block-actions nodrag">
          <IconButton
            icon="run"
            label={`Run up to ${name}`}
            title="Run up to here (Shift+Enter)"
            tabIndex={selected ? 0 : -1}
            onClick={() => void useStudio.getState().runTo([name])}
          />
          {op && (
            <IconButton
              icon="help"
              label={`Help on ${op.title}`}
              title={`What ${op.title} does (F1)`}
              tabIndex={selected ? 0 : -1}
              onClick={() => useStudio.getState().showHelp(op.name)}
            />
          )}
        </div>
      </div>
      <div className="block-rows">
        {Array.from({ length: lines }, (_, place) => {
          const row = rows.inputs[place];
          const output = rows.outputs[place];
          const info = row && op?.inputs.find((input) => input.name === row.name);
          return (
            <div className="row" key={row?.port ?? `output ${output}`}>
              {row ? (
                <InputPort
                  node={name}
                  port={row.port}
                  label={row.item === null ? row.name : row.port}
                  dtype={onlyDtype(op, info)}
                  text={hintOf(info)}
                  argument={argumentAt(entry, row.port)}
                  slot={checked?.inputs[row.port] ?? checked?.inputs[row.name]}
                  problem={byPort.get(row.port) ?? (row.item === null ? (byPort.get(row.name) ?? "") : "")}
                  selected={selected}
                  adder={row.many && row.item === null}
                  removable={row.many && row.item !== null}
                />
              ) : (
                <span />
              )}
              {output !== undefined && (
                <OutputPort
                  node={name}
                  port={output}
                  slot={checked?.outputs.find((slot) => slot.name === output)}
                  selected={selected}
                />
              )}
            </div>
          );
        })}
        {rows.settings.map((attr) => (
          <div className="row" key={`setting ${attr}`}>
            <Setting
              node={name}
              name={attr}
              info={op?.attrs.find((info) => info.name === attr)}
              value={entry.attrs?.[attr]}
              dtype={tensorDtype}
              problem={byPort.get(attr) ?? ""}
            />
          </div>
        ))}
      </div>
      {own && (
        <div className="block-error" role="note">
          {own}
        </div>
      )}
      {result && !result.error && result.outputs.length > 0 && (
        <Values name={name} result={result} stale={state === "stale"} />
      )}
    </div>
  );
}

function Badge({ state, seconds }: { state: NodeState; seconds: number }) {
  const text = STATE_TEXT[state] || (state === "done" ? timeText(seconds) : "");
  if (!text) return null;
  const spent = state === "stale" || state === "cached" ? `; took ${timeText(seconds)}` : "";
  return (
    <span className={`badge ${state}`} title={`${STATE_HELP[state]}${spent}`}>
      {text}
    </span>
  );
}

function Values({ name, result, stale }: { name: string; result: Result; stale: boolean }) {
  const lens = useStudio((s) => s.lens);
  const live = useStudio((s) => s.live);
  const held = useStudio((s) => s.live && holds(s, name));
  const shown = result.outputs.slice(0, MOST_VALUES);
  const classes = [
    "block-values nodrag nowheel",
    stale && !live && "stale",
    shown.length > 1 && "several",
    held && "held",
  ];
  return (
    <div
      className={classes.filter(Boolean).join(" ")}
      onPointerDown={held ? (event) => dragNumber(event, name) : undefined}
    >
      {shown.map((value) => (
        <Preview
          key={value.name}
          named={shown.length > 1}
          live={live}
          value={value}
          lensRows={litRows(lens, name, value.name)}
          onRow={(row, cell) => void useStudio.getState().look(name, value.name, [row], cell)}
          litCell={lens?.lit?.source === `${name}.${value.name}` ? lens.lit.index : null}
          compact
        />
      ))}
      {result.outputs.length > MOST_VALUES && (
        <div className="more">and {result.outputs.length - MOST_VALUES} more, in the inspector</div>
      )}
    </div>
  );
}

/** Whether the block's numbers stand in the page, and can be dragged. */
function holds({ document, ops }: Store, name: string): boolean {
  const entry = document.nodes[name];
  return entry !== undefined && heldTensor(entry, ops.get(entry.op)) !== null;
}

/** What is wrong, by port; "" for the block as a whole. */
function problemsByPort(problems: Problem[] | undefined, result: Result | undefined): Map<string, string> {
  const found = new Map<string, string>();
  const add = (port: string, text: string) => found.set(port, found.has(port) ? `${found.get(port)}\n${text}` : text);
  for (const problem of problems ?? []) add(problem.port, problem.text);
  if (result?.error && !problems?.length) add(result.error.port, result.error.text);
  // A reader sees the block first: what stands at a port is told there too.
  const told = [...found]
    .filter(([port]) => port)
    .map(([port, text]) => (text.startsWith(`${port} `) ? text : `${port}: ${text}`));
  if (told.length) found.set("", [found.get("") ?? "", ...told].filter(Boolean).join("\n"));
  return found;
}

function isLit(looked: LensState | null, name: string): string {
  const lens = looked?.lens;
  if (!lens) return "";
  const mentions = (places: string[]) => places.some((place) => place.startsWith(`${name}.`));
  if (mentions(lens.feeds)) return "lit feeds";
  return mentions(lens.fed) || looked.node === name ? "lit fed" : "unlit";
}
