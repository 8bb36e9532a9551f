// Every key of the studio: the one table that the handler obeys and that the sheet (?) shows.

import type { Point } from "../api/types";
import { blockId, nameOf } from "../canvas/nodes";
import { openSearch } from "../canvas/paneGestures";
import { canvasView, FIELDS, focusBlock, placeOnPage } from "../canvas/view";
import { moveNodes } from "../page/edits";
import { useStudio } from "../store";

export type Key = {
  keys: readonly string[]; // "Mod" is Ctrl, or ⌘ on a Mac
  label: string;
  group: "Run" | "Edit" | "Canvas" | "File" | "View";
  native?: true; // the browser's own event (copy, cut, paste) does it
  inFields?: true; // also while a text is being typed
  run?: (pressed: string) => void;
};

const studio = () => useStudio.getState();
const STEP = 8;
const LEAP = 64;

function letGo(): void {
  const { wiring, quick, lens, panel, selection } = studio();
  if (wiring || quick) {
    studio().closeQuick();
    studio().putDown();
  } else if (lens) studio().closeLens();
  else if (panel.problems) studio().setPanel({ problems: false });
  else if (Object.values(selection).some((names) => names.length)) studio().select({});
}

type Direction = "left" | "right" | "up" | "down";

/** From the selected block to the nearest one in a direction. */
function go(direction: Direction): void {
  const flow = canvasView.flow;
  if (!flow) return;
  const blocks = flow.getNodes().filter((item) => item.type === "block");
  const name = studio().selection.nodes.at(-1);
  const from = blocks.find((item) => nameOf(item.id) === name);
  let best = from ? null : blocks[0];
  if (from) {
    let least = Number.POSITIVE_INFINITY;
    for (const item of blocks) {
      const dx = item.position.x - from.position.x;
      const dy = item.position.y - from.position.y;
      const [ahead, aside] = direction === "left" || direction === "right" ? [dx, dy] : [dy, dx];
      const forward = direction === "left" || direction === "up" ? -ahead : ahead;
      if (forward <= 0) continue;
      const far = forward + 2 * Math.abs(aside);
      if (far < least) {
        least = far;
        best = item;
      }
    }
  }
  if (!best) return;
  const found = nameOf(best.id);
  studio().select({ nodes: [found] });
  studio().say(`Block ${found}`);
  const centre = {
    x: best.position.x + (best.measured?.width ?? 200) / 2,
    y: best.position.y + (best.measured?.height ?? 100) / 2,
  };
  const box = canvasView.element?.getBoundingClientRect();
  const at = flow.flowToScreenPosition(centre);
  const seen = box && at.x > box.left + 80 && at.x < box.right - 80 && at.y > box.top + 60 && at.y < box.bottom - 60;
  if (!seen) void flow.setCenter(centre.x, centre.y, { zoom: Math.max(flow.getZoom(), 0.5), duration: 0 });
  focusBlock(found);
}

function move(dx: number, dy: number): void {
  const { nodes } = studio().selection;
  const at = nodes.flatMap((name) => {
    const item = canvasView.flow?.getNode(blockId(name));
    return item ? [[name, [item.position.x + dx, item.position.y + dy] as Point]] : [];
  });
  if (at.length) studio().edit("move", moveNodes(Object.fromEntries(at)), `move ${nodes.join(" ")}`);
}

function editSelected(): void {
  if (!studio().selection.nodes.length) return;
  studio().setPanel({ right: "inspector", rightOpen: true });
  const first = "input:not([aria-label*=name i]), select, textarea";
  requestAnimationFrame(() => document.querySelector<HTMLElement>(`.panel.right :is(${first})`)?.focus());
}

function connectFromSelection(): void {
  const { selection, document, ops } = studio();
  const name = selection.nodes.at(-1);
  const op = ops.get(document.nodes[name ?? ""]?.op ?? "");
  const output = op?.outputs[0];
  if (name && output) studio().openDialog({ kind: "connect", from: { node: name, port: output.name, side: "output" } });
  else studio().toast("info", "Select the block that the wire comes from first.");
}

function selected(use: (name: string) => void): () => void {
  return () => {
    const name = studio().selection.nodes.at(-1);
    if (name) use(name);
    else studio().toast("info", "Select a block first.");
  };
}

const ARROWS: Record<string, { direction: Direction; x: number; y: number }> = {
  ArrowLeft: { direction: "left", x: -1, y: 0 },
  ArrowRight: { direction: "right", x: 1, y: 0 },
  ArrowUp: { direction: "up", x: 0, y: -1 },
  ArrowDown: { direction: "down", x: 0, y: 1 },
};

/** The four arrows with a modifier, as one row of the table. */
function arrows(
  group: Key["group"],
  modifier: string,
  label: string,
  use: (arrow: (typeof ARROWS)[string]) => void,
): Key {
  return {
    group,
    label,
    keys: Object.keys(ARROWS).map((key) => `${modifier}${key}`),
    run: (pressed) => {
      const arrow = ARROWS[pressed];
      if (arrow) use(arrow);
    },
  };
}

export const KEYS: readonly Key[] = [
  { group: "Run", keys: ["Mod+Enter"], label: "Run the page", inFields: true, run: () => void studio().runAll() },
  {
    group: "Run",
    keys: ["Shift+Enter"],
    label: "Run up to the selected blocks",
    run: () => void studio().runTo(studio().selection.nodes),
  },
  { group: "Run", keys: ["S"], label: "Step: run one block more", run: () => void studio().runStep() },
  {
    group: "Run",
    keys: ["L"],
    label: "Loop: run the page n times",
    run: () => void studio().runLoop(studio().loopSteps),
  },
  { group: "Run", keys: ["."], label: "Stop", run: () => void studio().stop() },

  { group: "Edit", keys: ["Mod+Z"], label: "Undo", run: () => studio().undo() },
  { group: "Edit", keys: ["Mod+Shift+Z", "Mod+Y"], label: "Redo", run: () => studio().redo() },
  { group: "Edit", keys: ["Mod+C"], label: "Copy as text", native: true },
  { group: "Edit", keys: ["Mod+X"], label: "Cut", native: true },
  { group: "Edit", keys: ["Mod+V"], label: "Paste", native: true },
  { group: "Edit", keys: ["Mod+D"], label: "Duplicate", run: () => studio().duplicate() },
  {
    group: "Edit",
    keys: ["Delete", "Backspace"],
    label: "Delete what is selected",
    run: () => studio().removeSelection(),
  },
  {
    group: "Edit",
    keys: ["Mod+A"],
    label: "Select all blocks",
    run: () =>
      studio().select({
        nodes: Object.keys(studio().document.nodes),
        notes: Object.keys(studio().document.notes ?? {}),
      }),
  },
  {
    group: "Edit",
    keys: ["F2"],
    label: "Rename the block",
    run: selected((node) => studio().openDialog({ kind: "rename-node", node })),
  },
  { group: "Edit", keys: ["Enter"], label: "Edit the selected block in the inspector", run: editSelected },
  { group: "Edit", keys: ["C"], label: "Connect the selected block’s output", run: connectFromSelection },
  { group: "Edit", keys: ["D"], label: "Differentiate", run: () => studio().openDialog({ kind: "differentiate" }) },
  { group: "Edit", keys: ["T"], label: "Tidy the page, or the selection", run: () => void studio().tidy() },
  { group: "Edit", keys: ["Mod+G"], label: "Group the selected blocks", run: () => studio().groupSelection() },
  { group: "Edit", keys: ["N"], label: "Add a note", run: () => studio().addNote(placeOnPage()) },

  { group: "Canvas", keys: ["Space", "/"], label: "Find and add a block", run: () => openSearch() },
  arrows("Canvas", "", "Go to the nearest block in that direction", ({ direction }) => go(direction)),
  arrows("Canvas", "Mod+", "Move the selected blocks", ({ x, y }) => move(x * STEP, y * STEP)),
  arrows("Canvas", "Mod+Shift+", "Move them far", ({ x, y }) => move(x * LEAP, y * LEAP)),
  { group: "Canvas", keys: ["F"], label: "Fit the page", run: () => studio().bringIntoView([]) },
  {
    group: "Canvas",
    keys: ["Shift+F"],
    label: "Fit the selection",
    run: () => studio().bringIntoView(studio().selection.nodes),
  },
  { group: "Canvas", keys: ["+", "="], label: "Zoom in", run: () => void canvasView.flow?.zoomIn() },
  { group: "Canvas", keys: ["-"], label: "Zoom out", run: () => void canvasView.flow?.zoomOut() },
  { group: "Canvas", keys: ["Escape"], label: "Let go: the wire, the lens, the selection", run: letGo },

  { group: "File", keys: ["Mod+S"], label: "Save", inFields: true, run: () => void studio().save() },
  {
    group: "File",
    keys: ["Mod+Shift+S"],
    label: "Save as",
    inFields: true,
    run: () => studio().openDialog({ kind: "save-as" }),
  },
  {
    group: "File",
    keys: ["Mod+O"],
    label: "Open a page",
    inFields: true,
    run: () => studio().setPanel({ left: "files", leftOpen: true }),
  },
  { group: "File", keys: ["Alt+N"], label: "New page", run: () => studio().newPage() },

  { group: "View", keys: ["?"], label: "Show all keys", run: () => studio().openDialog({ kind: "keys" }) },
  {
    group: "View",
    keys: ["F1"],
    label: "Help on the selected block",
    run: selected((name) => studio().showHelp(studio().document.nodes[name]?.op ?? "")),
  },
  {
    group: "View",
    keys: ["O"],
    label: "Outline of the page",
    run: () => studio().setPanel({ left: "outline", leftOpen: true }),
  },
  { group: "View", keys: ["B"], label: "Blocks", run: () => studio().setPanel({ left: "blocks", leftOpen: true }) },
  {
    group: "View",
    keys: ["P"],
    label: "List of problems",
    run: () => studio().setPanel({ problems: !studio().panel.problems }),
  },
  {
    group: "View",
    keys: ["["],
    label: "Show or hide the left panel",
    run: () => studio().setPanel({ leftOpen: !studio().panel.leftOpen }),
  },
  {
    group: "View",
    keys: ["]"],
    label: "Show or hide the inspector",
    run: () => studio().setPanel({ rightOpen: !studio().panel.rightOpen, right: "inspector" }),
  },
];

export type Pressed = { key: string; ctrlKey: boolean; metaKey: boolean; shiftKey: boolean; altKey: boolean };

/** Whether a key of the table was pressed. Shift is part of the name only where it does not make another character. */
export function matches(combination: string, event: Pressed): boolean {
  const parts = combination.split(/\+(?=.)/);
  const wanted = parts.at(-1) as string;
  const key = event.key === " " ? "Space" : event.key;
  const letter = /^[a-z]$/i.test(wanted);
  if (letter ? key.toLowerCase() !== wanted.toLowerCase() : key !== wanted) return false;
  if (parts.includes("Mod") !== (event.ctrlKey || event.metaKey)) return false;
  if (parts.includes("Alt") !== event.altKey) return false;
  const symbol = wanted.length === 1 && !letter;
  return symbol || parts.includes("Shift") === event.shiftKey;
}

const CONTROLS =
  "button, a, summary, [role=button], [role=tab], [role=option], [role=menuitem], [role=treeitem], [role=slider]";

/** The key that an event means here, if any. */
export function keyFor(event: KeyboardEvent): Key | null {
  const target = event.target instanceof Element ? event.target : null;
  const typing = target?.closest(FIELDS) ?? null;
  const found = KEYS.find((key) => !key.native && key.keys.some((one) => matches(one, event)));
  if (!found) return null;
  if (typing && !found.inFields) return null;
  // A focused control keeps the keys that work it.
  const works = ["Space", "Enter", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"];
  if (target?.closest(CONTROLS) && found.keys.some((one) => works.includes(one))) return null;
  return found;
}

const MAC = typeof navigator !== "undefined" && /Mac|iP(hone|ad)/.test(navigator.userAgent);

/** A combination as it is printed on the keys. */
export function printed(combination: string): string[] {
  const names: Record<string, string> = {
    Mod: MAC ? "⌘" : "Ctrl",
    ArrowLeft: "←",
    ArrowRight: "→",
    ArrowUp: "↑",
    ArrowDown: "↓",
    Escape: "Esc",
  };
  return combination.split(/\+(?=.)/).map((part) => names[part] ?? part);
}

/** The first key of a command, for its tooltip. */
export function shortcut(label: string): string {
  const key = KEYS.find((one) => one.label === label);
  return key ? ` (${printed(key.keys[0] as string).join("+")})` : "";
}
