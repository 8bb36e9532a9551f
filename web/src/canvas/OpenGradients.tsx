// What an open gradient is made of: small boxes under its block, from right to left, as a derivative goes.
import { ViewportPortal } from "@xyflow/react";
import { memo, useMemo } from "react";
import type { Part } from "../api/types";
import { litRows } from "../lens/words";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import { Preview } from "../values/Preview";
import { familyOf, slotText } from "./dtype";
import { blockId, type OwnItem, rowMiddle } from "./nodes";
import "./gradients.css";

const WIDTH = 200;
const HEIGHT = 150;
const [COLUMN, ROW] = [WIDTH + 56, HEIGHT + 24];
const [MARGIN, TITLE] = [20, 36];
const BELOW = 44;
const NO_PARTS: Record<string, Part[]> = {};

export const OpenGradients = memo(function OpenGradients({ items }: { items: readonly OwnItem[] }) {
  const parts = useStudio((s) => s.check?.parts ?? NO_PARTS);
  const opened = useStudio((s) => s.opened);
  return opened.map((name) => {
    const block = items.find((item) => item.id === blockId(name));
    const own = parts[name];
    return own && block ? <OpenGradient key={name} name={name} block={block} parts={own} items={items} /> : null;
  });
});

type Props = { name: string; block: OwnItem; parts: readonly Part[]; items: readonly OwnItem[] };

function OpenGradient({ name, block, parts, items }: Props) {
  const x = block.position.x;
  const y = block.position.y + (block.measured?.height ?? 0) + BELOW;
  const width = Math.max(...parts.map((part) => part.at[0])) * COLUMN + WIDTH + 2 * MARGIN;
  const height = Math.max(...parts.map((part) => part.at[1])) * ROW + HEIGHT + 2 * MARGIN + TITLE;
  const wires = useMemo(() => wiresOf(parts, items, x, y), [parts, items, x, y]);
  return (
    <ViewportPortal>
      {/* Clicks here mean the parts, not the canvas behind them. */}
      <section
        className="open-gradient nodrag nopan"
        aria-label={`Parts of ${name}`}
        style={{ transform: `translate(${x}px, ${y}px)`, width, height }}
      >
        <header>
          <b>{name}</b> is made of {parts.length} nodes, and they follow the page
          <IconButton
            className="ghost tiny"
            icon="close"
            label={`Fold ${name}`}
            title="Fold it"
            onClick={() => useStudio.getState().openParts(name, false)}
          />
        </header>
        {parts.map((part) => (
          <PartBox key={part.name} part={part} gradient={name} />
        ))}
      </section>
      <svg className="part-wires" width="1" height="1" aria-hidden="true" focusable="false">
        {wires.map(({ key, family, path, outside }) => (
          <path key={key} className={`wire ${family}${outside ? " outside" : ""}`} d={path} />
        ))}
      </svg>
    </ViewportPortal>
  );
}

function PartBox({ part, gradient }: { part: Part; gradient: string }) {
  const result = useStudio((s) => s.results[part.name]);
  const title = useStudio((s) => s.ops.get(part.op)?.title ?? part.op);
  const lens = useStudio((s) => s.lens);
  const stale = result !== undefined && result.key !== part.key;
  const value = result?.outputs[0];
  const [left, top] = partAt(part);
  return (
    <div
      className={`part${stale ? " stale" : ""}`}
      data-part={part.name}
      style={{ left, top, width: WIDTH, height: HEIGHT }}
      title={part.name}
    >
      <button type="button" className="part-op" onClick={() => useStudio.getState().showHelp(part.op)} title={part.op}>
        {title}
      </button>
      <div className="part-name">{part.name.replace(`${gradient}/gradients/`, "")}</div>
      {value ? (
        <Preview
          value={value}
          lensRows={litRows(lens, part.name, value.name)}
          onRow={(row) => void useStudio.getState().look(part.name, value.name, [row])}
          compact
        />
      ) : (
        part.outputs.map((slot) => (
          <div key={slot.name} className={`part-slot ${familyOf(slot.dtype)}`}>
            {slotText(slot.dtype, slot.shape)}
          </div>
        ))
      )}
    </div>
  );
}

function partAt(part: Part): [number, number] {
  const [column, row] = part.at as [number, number];
  return [MARGIN + column * COLUMN, MARGIN + TITLE + row * ROW];
}

type PartWire = { key: string; family: string; path: string; outside: boolean };

/** From right to left between the parts; from the blocks of the page, whose values they read, as they come. */
function wiresOf(parts: readonly Part[], items: readonly OwnItem[], x: number, y: number): PartWire[] {
  const own = new Map(parts.map((part) => [part.name, part]));
  const blocks = new Map(items.map((item) => [item.id, item]));
  return parts.flatMap((part) => {
    const [left, top] = partAt(part);
    const ports = Object.entries(part.inputs);
    return ports.flatMap(([port, source], place): PartWire[] => {
      const dot = source.lastIndexOf(".");
      const [node, output] = [source.slice(0, dot), source.slice(dot + 1)];
      const y2 = y + top + (HEIGHT * (place + 1)) / (ports.length + 1);
      const x2 = x + left + WIDTH;
      const from = own.get(node);
      const key = `${part.name}.${port}`;
      if (from) {
        const [fromLeft, fromTop] = partAt(from);
        const [x1, y1] = [x + fromLeft, y + fromTop + HEIGHT / 2];
        const bend = Math.max(24, Math.abs(x1 - x2) / 2);
        const family = familyOf(from.outputs.find((slot) => slot.name === output)?.dtype);
        return [
          { key, family, outside: false, path: `M${x1} ${y1}C${x1 - bend} ${y1} ${x2 + bend} ${y2} ${x2} ${y2}` },
        ];
      }
      const block = blocks.get(blockId(node));
      if (block?.type !== "block") return [];
      const row = Math.max(0, block.data.box.rows.outputs.indexOf(output));
      const [x1, y1] = [block.position.x + block.data.box.width, block.position.y + rowMiddle(row)];
      return [{ key, family: "", outside: true, path: `M${x1} ${y1}C${x1 + 60} ${y1} ${x2 + 60} ${y2} ${x2} ${y2}` }];
    });
  });
}
