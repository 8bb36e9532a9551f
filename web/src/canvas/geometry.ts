// Where blocks are and how large: known without drawing them, so that a block out of sight need not exist in the page.
import type { Document, Entry, OpInfo, Point } from "../api/types";
import { allWires, has, isLink, outputName } from "../page/links";
import type { Result, Store } from "../store/types";
import * as sizes from "./sizes";

export const RESULT = 116; // most of a result's height inside a block
export const GAP = 16;
const MOST_SHOWN = 256; // outputs of one list

export type InputRow = { port: string; name: string; many: boolean; item: number | null };
export type Rows = { inputs: InputRow[]; adders: string[]; outputs: string[]; settings: string[] };

/** The rows of a block. An op that is not known has the ports that the page mentions. */
export function rowsOf(entry: Entry, op: OpInfo | undefined, mentioned: readonly string[]): Rows {
  const known = op?.inputs ?? [];
  const inputs: InputRow[] = [];
  const adders: string[] = [];
  for (const input of known) {
    if (!input.many) {
      inputs.push({ port: input.name, name: input.name, many: false, item: null });
      continue;
    }
    const value = has(entry.in, input.name) ? entry.in?.[input.name] : undefined;
    const count = Array.isArray(value) ? value.length : 0;
    for (let item = 0; item < count; item++) {
      inputs.push({ port: `${input.name}[${item}]`, name: input.name, many: true, item });
    }
    adders.push(input.name);
    inputs.push({ port: `${input.name}[${count}]`, name: input.name, many: true, item: null });
  }
  for (const [port, value] of Object.entries(entry.in ?? {})) {
    if (known.some((input) => input.name === port)) continue;
    if (Array.isArray(value) && value.some(isLink)) {
      for (let item = 0; item < value.length; item++) {
        inputs.push({ port: `${port}[${item}]`, name: port, many: true, item });
      }
    } else inputs.push({ port, name: port, many: false, item: null });
  }
  const outputs = op ? outputPorts(entry, op) : mentioned.length ? [...mentioned] : ["output"];
  const settings = op ? op.attrs.map((attr) => attr.name) : [];
  for (const attr of Object.keys(entry.attrs ?? {})) if (!settings.includes(attr)) settings.push(attr);
  return { inputs, adders, outputs, settings: settings.filter((attr) => isShown(entry, op, attr)) };
}

/** The outputs of a node, "outputs[0]" for one of a list: as long as a setting says, or as the lists of inputs are. */
export function outputPorts(entry: Entry, op: OpInfo): string[] {
  return op.outputs.flatMap((output) => {
    if (!output.many) return [output.name];
    const list = op.inputs.find((input) => input.many)?.name ?? "";
    const given = output.count
      ? has(entry.attrs, output.count) && entry.attrs?.[output.count]
      : has(entry.in, list) && entry.in?.[list];
    const count = Array.isArray(given) ? given.length : typeof given === "number" ? given : 0;
    return Array.from({ length: Math.max(0, Math.min(count, MOST_SHOWN)) }, (_, item) => `${output.name}[${item}]`);
  });
}

/** A setting shows in the block when it must be given or is given; all of them are in the inspector. */
function isShown(entry: Entry, op: OpInfo | undefined, attr: string): boolean {
  return has(entry.attrs, attr) || (op?.attrs.find((info) => info.name === attr)?.required ?? true);
}

export type Box = { width: number; height: number; rows: Rows };

export function boxOf(name: string, entry: Entry, op: OpInfo | undefined, mentioned: readonly string[]): Box {
  const rows = rowsOf(entry, op, mentioned);
  const { SPARE_HEAD, SPARE_ROW, WIDTH_STEP } = sizes;
  const lengths = rows.inputs.map((row, place) => row.port.length + (rows.outputs[place]?.length ?? 0) + SPARE_ROW);
  const head = Math.max(name.length * sizes.TITLE, (op?.title ?? entry.op).length) + SPARE_HEAD;
  const text = Math.max(head, ...lengths) * sizes.CHARACTER;
  const wanted = Math.round((text + 2 * sizes.EDGE) / WIDTH_STEP) * WIDTH_STEP;
  const width = Math.max(sizes.NARROWEST, Math.min(sizes.WIDEST, wanted));
  const count = Math.max(rows.inputs.length, rows.outputs.length) + rows.settings.length;
  return { width, height: sizes.HEAD + sizes.ROW * count + sizes.FOOT, rows };
}

/** The ports of each node that links mention, for ops that are not known. */
export function mentionedPorts(document: Document): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const wire of allWires(document)) {
    const port = outputName(undefined, wire.sourcePort) || "output";
    const ports = found.get(wire.sourceNode) ?? [];
    if (!ports.includes(port)) found.set(wire.sourceNode, [...ports, port]);
  }
  return found;
}

// ------------------------------------------------------------------ room for results
/** How much a result adds to a block: more for a table than for a line. */
export function resultHeight(result: Result | undefined): number {
  if (!result) return 0;
  if (result.error) return 56;
  const value = result.outputs[0];
  if (!value) return 0;
  const size = value.shape.reduce((product, n) => product * n, 1);
  const outputs = Math.min(result.outputs.length, 3);
  if (result.outputs.length > 1) return 12 + outputs * 26;
  if (size <= 1) return 40;
  return RESULT;
}

export type Placed = { name: string; x: number; y: number; width: number; height: number; extra: number };

/** Blocks below one that has grown by its result make room; those that overlapped without it are left as they were put. */
export function spread(blocks: readonly Placed[]): Map<string, number> {
  const down = new Map<string, number>();
  const above: (Placed & { bottom: number })[] = [];
  for (const block of [...blocks].sort((a, b) => a.y - b.y || a.x - b.x)) {
    let y = block.y;
    for (let i = above.length - 1; i >= 0; i--) {
      const other = above[i] as (typeof above)[number];
      if (other.x >= block.x + block.width || block.x >= other.x + other.width) continue;
      if (other.y + other.height > block.y + 1) continue; // overlapped before
      if (other.bottom + GAP > y) y = other.bottom + GAP;
    }
    down.set(block.name, y);
    above.push({ ...block, bottom: y + block.height + block.extra });
    // Blocks far above cannot reach this one any more.
    if (above.length > 400) above.sort((a, b) => a.bottom - b.bottom).splice(0, 100);
  }
  return down;
}

const [STEP_RIGHT, STEP_DOWN, MOST_STEPS] = [64, 48, 60];

/** The place nearest to one, to the right or below, where a box covers no block. */
export function freePlace(state: Store, at: Point, box: { width: number; height: number }): Point {
  const mentioned = mentionedPorts(state.document);
  const blocks = Object.entries(state.document.nodes).map(([name, entry]): Placed => {
    const { width, height } = boxOf(name, entry, state.ops.get(entry.op), mentioned.get(name) ?? []);
    const [x, y] = pointOf(state.document, name);
    return { name, x, y, width, height, extra: resultHeight(state.results[name]) };
  });
  const down = spread(blocks);
  const isFree = (x: number, y: number) =>
    blocks.every((block) => {
      const top = down.get(block.name) ?? block.y;
      const beside = x + box.width + GAP <= block.x || block.x + block.width + GAP <= x;
      return beside || y + box.height + GAP <= top || top + block.height + block.extra + GAP <= y;
    });
  const steps = Array.from({ length: MOST_STEPS * MOST_STEPS }, (_, n): Point => {
    return [(n % MOST_STEPS) * STEP_RIGHT, Math.floor(n / MOST_STEPS) * STEP_DOWN];
  }).sort(([a, b], [c, d]) => Math.hypot(a, b) - Math.hypot(c, d));
  const [right, below] = steps.find(([x, y]) => isFree(at[0] + x, at[1] + y)) ?? [0, 0];
  return [at[0] + right, at[1] + below];
}

/** Where a block goes that nobody has put anywhere: right of what is selected. */
export function besideSelection(state: Store): Point | null {
  const chosen = state.selection.nodes.at(-1);
  const entry = chosen === undefined ? undefined : state.document.nodes[chosen];
  if (chosen === undefined || !entry) return null;
  const [x, y] = pointOf(state.document, chosen);
  return [x + boxOf(chosen, entry, state.ops.get(entry.op), []).width + 4 * GAP, y];
}

export const NO_PLACE: Point = [40, 40];

export function pointOf(document: Document, node: string): Point {
  const at = has(document.layout, node) ? document.layout?.[node] : undefined;
  return Array.isArray(at) && Number.isFinite(at[0]) && Number.isFinite(at[1]) ? at : NO_PLACE;
}

/** A layout with room between the boxes that were tidied and those that stayed. */
export function spreadLayout(state: Store, layout: Record<string, Point>): Record<string, Point> {
  const mentioned = mentionedPorts(state.document);
  const blocks = Object.entries(layout).flatMap(([name, [x, y]]): Placed[] => {
    const entry = has(state.document.nodes, name) ? state.document.nodes[name] : undefined;
    if (!entry) return [];
    const box = boxOf(name, entry, state.ops.get(entry.op), mentioned.get(name) ?? []);
    return [{ name, x, y, width: box.width, height: 1, extra: box.height - 1 }];
  });
  const down = spread(blocks);
  return Object.fromEntries(blocks.map((block) => [block.name, [block.x, down.get(block.name) ?? block.y]]));
}
