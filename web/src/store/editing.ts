// Changes of the document: one way in, a step of history each, and the commands that are made of edits.

import { api, reason } from "../api/client";
import { recorded as kept, READ_ONLY } from "../api/recorded";
import type { Document, Entry, OpInfo, Point } from "../api/types";
import { besideSelection, boxOf, freePlace, spreadLayout } from "../canvas/geometry";
import { fragmentOf, pasted, readFragment } from "../page/clipboard";
import { holderOf, tableLiteral } from "../page/data";
import * as edits from "../page/edits";
import { recorded, redone, sealed, type Turned, undone } from "../page/history";
import { allWires, argumentAt, has, inputOf, isLink, sourceOf, splitPort } from "../page/links";
import { literalDtype, literalTensor } from "../values/literals";
import { NOTHING } from "./initial";
import type { GetState, SetState } from "./parts";
import type { Actions, PortPlace, RunState, Selection, Store } from "./types";

export function editing(set: SetState, get: GetState) {
  const turn = (turned: Turned | null, verb: string) => {
    if (!turned) return;
    set((state) => ({
      document: turned.document,
      history: turned.history,
      selection: surviving(state.selection, turned.document),
      file: { ...state.file, save: turned.document === state.file.savedDocument ? "clean" : "changed" },
      run: afterEdit(state.run),
      spoken: `${verb}: ${turned.label}`,
    }));
  };

  const pasteTable = (text: string) => {
    const holder = holderOf(get().ops.values());
    const literal = tableLiteral(text);
    if (!holder || literal === null)
      return get().toast("info", "The clipboard holds neither blocks nor a table of numbers.");
    const tensor = holder.attrs.find((attr) => attr.kind === "tensor")?.name ?? "";
    const type = holder.attrs.find((attr) => attr.kind === "type")?.name ?? "";
    const { document } = get();
    const name = edits.freeName("table", (taken) => has(document.nodes, taken));
    const whole = (literalTensor(literal, "")?.cells ?? []).every((cell) => Number.isInteger(cell));
    const entry: Entry = { op: holder.name, attrs: { [type]: whole ? "int32" : "float32", [tensor]: literal } };
    const place = freePlace(get(), besideSelection(get()) ?? [40, 40], boxOf(name, entry, holder, []));
    get().edit("paste a table", edits.addNode(name, entry, place));
    get().select({ nodes: [name] });
    get().bringIntoView([name]);
  };

  let last = { text: "", times: 0 };
  const paste = (text: string) => {
    // The same blocks again go beside the former ones, not upon them.
    last = { text, times: last.text === text ? last.times + 1 : 1 };
    const offset: Point = [32 * last.times, 32 * last.times];
    const fragment = readFragment(text);
    if (!fragment) return pasteTable(text);
    const { document, names } = pasted(get().document, fragment, offset, get().file.journal);
    get().edit(`paste ${counted(names.nodes.length, "block")}`, () => document);
    get().select(names);
    if (names.nodes.length) get().bringIntoView(names.nodes);
  };

  return {
    edit(label, change, mergeKey) {
      if (kept) return get().toast("info", READ_ONLY);
      const before = get().document;
      const document = change(before);
      if (document === before) return;
      set((state) => ({
        document,
        history: recorded(state.history, before, label, mergeKey),
        selection: surviving(state.selection, document),
        file: { ...state.file, save: "changed" },
        run: afterEdit(state.run),
        lens: null,
      }));
    },
    undo: () => turn(undone(get().history, get().document), "Undone"),
    redo: () => turn(redone(get().history, get().document), "Redone"),

    select: (selection) =>
      set((state) => {
        const next = { ...NOTHING, ...selection };
        return sameSelection(state.selection, next) ? {} : { selection: next, history: sealed(state.history) };
      }),

    setLiteral: (node, port, literal) =>
      get().edit(`set ${node}.${port}`, edits.setLiteral(node, port, literal), `literal ${node}.${port}`),
    setAttr: (node, attr, value) =>
      get().edit(`set ${node}.${attr}`, edits.setAttr(node, attr, value), `attr ${node}.${attr}`),
    disconnect: (node, port) => get().edit(`disconnect ${node}.${port}`, edits.disconnect(node, port)),

    addBlock(op, position, connectTo) {
      const info = get().ops.get(op);
      if (!info) return null;
      const { document } = get();
      const pulled = connectTo?.wiring.side === "input" ? heldBy(get(), info, connectTo.wiring) : null;
      const stem = pulled ? edits.slug(connectTo?.wiring.port ?? "") : edits.slug(info.name);
      const name = edits.freeName(stem, (taken) => has(document.nodes, taken));
      const entry: Entry = { op };
      if (Object.keys(info.example.in ?? {}).length) entry.in = { ...info.example.in };
      if (Object.keys(info.example.attrs ?? {}).length) entry.attrs = { ...info.example.attrs };
      if (pulled) entry.attrs = { ...entry.attrs, ...pulled };
      const place = freePlace(get(), position, boxOf(name, entry, info, []));
      const changes = [edits.addNode(name, entry, place)];
      if (connectTo) {
        const { wiring, port } = connectTo;
        if (wiring.side === "output") {
          const source = sourceOf(get().ops.get(document.nodes[wiring.node]?.op ?? ""), wiring.node, wiring.port);
          const many = info.inputs.find((input) => input.name === port)?.many;
          changes.push(edits.connect(name, many ? `${port}[0]` : port, source));
        } else changes.push(edits.connect(wiring.node, wiring.port, sourceOf(info, name, port)));
      }
      get().edit(`add ${name}`, edits.inOrder(...changes));
      get().select({ nodes: [name] });
      get().say(`Added ${name}, ${info.title}`);
      return name;
    },

    removeSelection() {
      const { nodes, wires, groups, notes } = get().selection;
      const gone = new Set(nodes);
      // Later items of a list first: taking one out moves those behind it.
      const cut = allWires(get().document)
        .filter((wire) => wires.includes(`${wire.node}.${wire.port}`) && !gone.has(wire.node))
        .sort((a, b) => (splitPort(b.port)[1] ?? 0) - (splitPort(a.port)[1] ?? 0));
      const count = nodes.length + cut.length + groups.length + notes.length;
      if (!count) return;
      get().edit(
        `delete ${nodes.length ? counted(nodes.length, "block") : counted(count, "item")}`,
        edits.inOrder(
          ...cut.map((wire) => edits.disconnect(wire.node, wire.port)),
          edits.removeNodes(nodes),
          ...groups.map((name) => edits.setGroup(name, undefined)),
          ...notes.map((name) => edits.setNote(name, undefined)),
        ),
      );
      get().say("Deleted");
    },

    fragment() {
      const { selection, document, file } = get();
      const some = selection.nodes.length || selection.notes.length;
      return some ? fragmentOf(document, selection, file.journal) : "";
    },
    async copy() {
      const text = get().fragment();
      if (!text) return;
      await navigator.clipboard.writeText(text);
      get().say(`Copied ${counted(get().selection.nodes.length, "block")}`);
    },
    async cut() {
      await get().copy();
      get().removeSelection();
    },
    async paste(text) {
      try {
        paste(text ?? (await navigator.clipboard.readText()));
      } catch (problem) {
        get().toast("danger", `Nothing was pasted: ${reason(problem)}`);
      }
    },
    duplicate() {
      const text = get().fragment();
      if (text) paste(text);
    },

    groupSelection() {
      const { nodes } = get().selection;
      if (!nodes.length) return get().toast("info", "Select the blocks that the group is to hold first.");
      const groups = get().document.groups ?? {};
      const name = edits.freeName("group", (taken) => has(groups, taken));
      get().edit("group", edits.groupNodes(name, "Group", nodes, Object.keys(groups).length % 6));
      get().select({ groups: [name] });
    },

    addNote(position) {
      const notes = get().document.notes ?? {};
      const name = edits.freeName("note", (taken) => has(notes, taken));
      get().edit("add a note", edits.setNote(name, { text: "", at: position ?? [40, 40], size: [220, 96] }));
      get().select({ notes: [name] });
    },

    async tidy() {
      const { document, selection } = get();
      const some = selection.nodes.length > 1 ? selection.nodes : null;
      try {
        const { layout } = await api.layout(document, some);
        if (get().document !== document) return;
        const moved = some ? spreadLayout(get(), layout) : layout;
        get().edit(some ? "tidy the selection" : "tidy", edits.moveNodes(moved));
        get().bringIntoView(some ?? []);
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },
  } satisfies Partial<Actions>;
}

/** An edit ends a run that goes step by step, and what the last one said of a failure is of another page. */
function afterEdit(run: RunState): RunState {
  if (run.state === "stepping") return { ...run, id: null, state: "idle", next: null };
  return run.state === "idle" && run.outcome === "failed" ? { ...run, outcome: null, error: "" } : run;
}

/** What stands typed in a port, as the settings of a block that holds a tensor and nothing else. */
function heldBy(state: Store, info: OpInfo, { node, port }: PortPlace): Record<string, unknown> | null {
  const tensor = info.attrs.find((attr) => attr.kind === "tensor");
  const type = info.attrs.find((attr) => attr.kind === "type");
  const held = argumentAt(state.document.nodes[node], port);
  if (info.inputs.length || !tensor || !type || held === undefined || isLink(held) || inputOf(held)) return null;
  const dtype = literalDtype(held) ?? state.check?.nodes[node]?.inputs[port]?.dtype;
  if (!dtype) return null;
  const plain = typeof held === "object" && held !== null && !Array.isArray(held) && "value" in held;
  return { [type.name]: dtype, [tensor.name]: plain && !("shape" in held) ? held.value : held };
}

/** What of a selection is still in the document. */
function surviving(selection: Selection, document: Document): Selection {
  const next: Selection = {
    nodes: selection.nodes.filter((node) => has(document.nodes, node)),
    wires: selection.wires.filter((wire) => wireExists(document, wire)),
    groups: selection.groups.filter((group) => has(document.groups, group)),
    notes: selection.notes.filter((note) => has(document.notes, note)),
  };
  return sameSelection(selection, next) ? selection : next;
}

function wireExists(document: Document, wire: string): boolean {
  for (let dot = wire.indexOf("."); dot >= 0; dot = wire.indexOf(".", dot + 1)) {
    const node = wire.slice(0, dot);
    if (!has(document.nodes, node)) continue;
    const [name, place] = splitPort(wire.slice(dot + 1));
    const value = document.nodes[node]?.in?.[name];
    if (isLink(place === null ? value : Array.isArray(value) ? value[place] : null)) return true;
  }
  return false;
}

export function sameSelection(a: Selection, b: Selection): boolean {
  const same = (x: string[], y: string[]) => x.length === y.length && x.every((name, place) => name === y[place]);
  return same(a.nodes, b.nodes) && same(a.wires, b.wires) && same(a.groups, b.groups) && same(a.notes, b.notes);
}

export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
