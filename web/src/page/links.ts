// How the nodes of a document are joined. A link stands at its consumer: {"from": "node"} or {"from": "node.port"}.
import type { Argument, Document, Entry, Link, OpInfo } from "../api/types";

export type Wire = { node: string; port: string; from: string; sourceNode: string; sourcePort: string };

export function isLink(value: unknown): value is Link {
  return typeof value === "object" && value !== null && !Array.isArray(value) && "from" in value;
}

/** The input that {"input": "node.port"} names: what a gradient is by, where that is a value in a port. */
export function inputOf(value: unknown): string | null {
  if (typeof value !== "object" || value === null || !("input" in value)) return null;
  return typeof value.input === "string" ? value.input : null;
}

/** Own keys only: a page may call a node "constructor". */
export function has(record: object | undefined, key: string): boolean {
  return record !== undefined && Object.hasOwn(record, key);
}

/** The node and port that a source means; a node whose own name has that dot comes first. */
export function splitSource(nodes: Record<string, unknown>, source: string): [string, string] {
  if (has(nodes, source)) return [source, ""];
  const dot = source.lastIndexOf(".");
  const node = dot < 0 ? source : source.slice(0, dot);
  return dot >= 0 && has(nodes, node) ? [node, source.slice(dot + 1)] : [source, ""];
}

/** "values[2]" is the third item of the list in `values`. */
export function splitPort(port: string): [string, number | null] {
  const found = /^(.*)\[(\d+)\]$/.exec(port);
  return found ? [found[1] as string, Number(found[2])] : [port, null];
}

/** The source text of an output: the first output needs no port. */
export function sourceOf(op: OpInfo | undefined, node: string, port: string): string {
  return !port || op?.outputs[0]?.name === port ? node : `${node}.${port}`;
}

/** The name of the output that a link's source means. */
export function outputName(op: OpInfo | undefined, port: string): string {
  return port || (op?.outputs[0]?.name ?? "");
}

export function argumentAt(entry: Entry | undefined, port: string): Argument | undefined {
  const [name, place] = splitPort(port);
  const inputs = entry?.in;
  if (has(inputs, port)) return inputs?.[port];
  if (!has(inputs, name)) return undefined;
  const value = inputs?.[name];
  return place === null ? value : Array.isArray(value) ? value[place] : undefined;
}

export function wiresOf(nodes: Record<string, Entry>, node: string, entry: Entry): Wire[] {
  const wires: Wire[] = [];
  const add = (port: string, value: unknown) => {
    if (!isLink(value) || typeof value.from !== "string") return;
    const [sourceNode, sourcePort] = splitSource(nodes, value.from);
    wires.push({ node, port, from: value.from, sourceNode, sourcePort });
  };
  for (const [port, value] of Object.entries(entry.in ?? {})) {
    if (Array.isArray(value)) value.forEach((one, place) => void add(`${port}[${place}]`, one));
    else add(port, value);
  }
  return wires;
}

export function allWires(document: Document): Wire[] {
  return Object.entries(document.nodes).flatMap(([node, entry]) => wiresOf(document.nodes, node, entry));
}

/** The nodes from `to` back to `from` when a wire from → to would close a cycle, else null. */
export function cycleOf(document: Document, from: string, to: string): string[] | null {
  const before = new Map<string, string>([[from, ""]]);
  const waiting = [from];
  while (waiting.length) {
    const node = waiting.pop() as string;
    if (node === to) {
      const path = [to];
      for (let at = before.get(to); at; at = before.get(at)) path.push(at);
      return path;
    }
    const entry = has(document.nodes, node) ? document.nodes[node] : undefined;
    if (!entry) continue;
    const read = [...wiresOf(document.nodes, node, entry).map((wire) => wire.sourceNode), ...(entry.after ?? [])];
    for (const source of read) {
      if (!before.has(source)) {
        before.set(source, node);
        waiting.push(source);
      }
    }
  }
  return null;
}
