// The canvas's items, made from the document. An item whose part of the document is the same stays the same object.
import { type Edge, type Node, Position } from "@xyflow/react";
import type { Document, Entry, Group, Note, OpInfo } from "../api/types";
import { allWires, has, outputName } from "../page/links";
import type { Result, Selection } from "../store/types";
import { type Box, boxOf, mentionedPorts, type Placed, pointOf, resultHeight, spread } from "./geometry";
import { HEAD, ROW } from "./sizes";

export type BlockNode = Node<{ name: string; box: Box }, "block">;
export type NoteNode = Node<{ name: string; note: Note }, "note">;
export type GroupNode = Node<{ name: string; group: Group }, "frame">;
export type OwnItem = BlockNode | NoteNode; // a frame has its place from its blocks
export type Item = OwnItem | GroupNode;
export type WireEdge = Edge<{ node: string; port: string; sourceNode: string; sourcePort: string }, "wire">;

export const blockId = (name: string) => `n:${name}`;
export const noteId = (name: string) => `t:${name}`;
export const groupId = (name: string) => `g:${name}`;
export const nameOf = (id: string) => id.slice(2);

const DOT = 12;
const boxes = new WeakMap<Entry, { name: string; op: OpInfo | undefined; mentioned: string; box: Box }>();

function cachedBox(name: string, entry: Entry, op: OpInfo | undefined, mentioned: readonly string[]): Box {
  const key = mentioned.join(" ");
  const found = boxes.get(entry);
  if (found && found.name === name && found.op === op && (op || found.mentioned === key)) return found.box;
  const box = boxOf(name, entry, op, mentioned);
  boxes.set(entry, { name, op, mentioned: key, box });
  return box;
}

type Sources = {
  document: Document;
  ops: ReadonlyMap<string, OpInfo>;
  results: Record<string, Result>;
  selection: Selection;
};

export function itemsOf({ document, ops, results, selection }: Sources, before: readonly OwnItem[]): OwnItem[] {
  const old = new Map(before.map((item) => [item.id, item]));
  const picked = new Set([...selection.nodes.map(blockId), ...selection.notes.map(noteId)]);
  const mentioned = mentionedPorts(document);
  const made = Object.entries(document.nodes).map(([name, entry]) => {
    const box = cachedBox(name, entry, ops.get(entry.op), mentioned.get(name) ?? []);
    const former = old.get(blockId(name));
    const measured = former?.measured?.height;
    const extra = measured ? Math.max(0, measured - box.height) : resultHeight(results[name]);
    const [x, y] = pointOf(document, name);
    return { name, x, y, width: box.width, height: box.height, extra, box };
  });
  const down = spread(made satisfies Placed[]);
  const blocks = made.map(({ name, x, y, box }): BlockNode => {
    const id = blockId(name);
    const former = old.get(id) as BlockNode | undefined;
    const selected = picked.has(id);
    const top = down.get(name) ?? y;
    const same = former && former.data.box === box && former.data.name === name;
    if (same && former.selected === selected && former.position.x === x && former.position.y === top) return former;
    return {
      ...(former ?? {}),
      id,
      type: "block",
      position: { x, y: top },
      selected,
      zIndex: selected ? 2 : 1,
      data: same ? former.data : { name, box },
      // As the style sheet makes it, so a block need not be drawn to be measured.
      measured: former?.measured ?? { width: box.width, height: box.height + resultHeight(results[name]) },
      handles: same ? former.handles : handlesOf(box),
      ariaLabel: `Block ${name}`,
    };
  });
  const notes = Object.entries(document.notes ?? {}).map(([name, note]): NoteNode => {
    const id = noteId(name);
    const former = old.get(id) as NoteNode | undefined;
    const selected = picked.has(id);
    if (former?.data.note === note && former.selected === selected) return former;
    const [width, height] = note.size ?? [220, 96];
    const [x, y] = note.at ?? [40, 40];
    return {
      ...(former ?? {}),
      id,
      type: "note",
      position: { x, y },
      selected,
      zIndex: selected ? 2 : 1,
      data: { name, note },
      width,
      height,
      measured: { width, height },
      handles: [],
      ariaLabel: `Note ${note.text.slice(0, 40)}`,
    };
  });
  return [...blocks, ...notes];
}

/** How far below a block's top the middle of a row is. */
export function rowMiddle(place: number): number {
  return HEAD + ROW * (place + 0.5);
}

/** Where the dots are, so that wires to blocks out of sight can be drawn. */
function handlesOf(box: Box): BlockNode["handles"] {
  const top = (place: number) => rowMiddle(place) - DOT / 2;
  return [
    ...box.rows.inputs.map((row, place) => ({
      id: row.port,
      type: "target" as const,
      position: Position.Left,
      x: 1 - DOT / 2,
      y: top(place),
      width: DOT,
      height: DOT,
    })),
    ...box.rows.outputs.map((port, place) => ({
      id: port,
      type: "source" as const,
      position: Position.Right,
      x: box.width - 1 - DOT / 2,
      y: top(place),
      width: DOT,
      height: DOT,
    })),
  ];
}

const MARGIN = 20;
const TITLE = 32;

/** A frame around each group's blocks, behind them. */
export function framesOf(document: Document, items: readonly OwnItem[], selection: Selection): GroupNode[] {
  if (!document.groups) return [];
  const byId = new Map(items.map((item) => [item.id, item]));
  return Object.entries(document.groups).flatMap(([name, group]): GroupNode[] => {
    const members = (group.nodes ?? []).flatMap((node) => byId.get(blockId(node)) ?? []);
    if (!members.length) return [];
    const left = Math.min(...members.map((item) => item.position.x)) - MARGIN;
    const top = Math.min(...members.map((item) => item.position.y)) - MARGIN - TITLE;
    const right = Math.max(...members.map((item) => item.position.x + (item.measured?.width ?? 200)));
    const bottom = Math.max(...members.map((item) => item.position.y + (item.measured?.height ?? 100)));
    const width = right - left + MARGIN;
    const height = bottom - top + MARGIN;
    return [
      {
        id: groupId(name),
        type: "frame",
        position: { x: left, y: top },
        data: { name, group },
        selected: selection.groups.includes(name),
        width,
        height,
        measured: { width, height },
        handles: [],
        zIndex: -1,
        dragHandle: ".group-title",
        style: { pointerEvents: "none" },
        ariaLabel: `Group ${group.title}`,
      },
    ];
  });
}

export function edgesOf(
  document: Document,
  ops: ReadonlyMap<string, OpInfo>,
  selection: Selection,
  before: readonly WireEdge[],
): WireEdge[] {
  const old = new Map(before.map((edge) => [edge.id, edge]));
  const picked = new Set(selection.wires);
  return allWires(document)
    .filter((wire) => has(document.nodes, wire.sourceNode))
    .map((wire): WireEdge => {
      const id = `${wire.node}.${wire.port}`;
      const op = ops.get(document.nodes[wire.sourceNode]?.op ?? "");
      const sourceHandle = outputName(op, wire.sourcePort) || "output";
      const source = blockId(wire.sourceNode);
      const selected = picked.has(id);
      const former = old.get(id);
      if (former?.source === source && former.sourceHandle === sourceHandle && former.selected === selected)
        return former;
      return {
        id,
        type: "wire",
        source,
        sourceHandle,
        target: blockId(wire.node),
        targetHandle: wire.port,
        selected,
        data: { node: wire.node, port: wire.port, sourceNode: wire.sourceNode, sourcePort: sourceHandle },
        ariaLabel: `Wire from ${wire.from} to ${id}`,
      };
    });
}
