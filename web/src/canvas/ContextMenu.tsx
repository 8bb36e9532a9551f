// What the right mouse button offers: commands for the block, the selection or the page under it.
import { type MouseEvent, useEffect, useRef, useState } from "react";
import type { Point } from "../api/types";
import { useStudio } from "../store";
import { type Command, Commands } from "../toolbar/Menu";
import { nameOf } from "./nodes";
import { openSearch } from "./paneGestures";
import { focusBlock, placeOnPage } from "./view";

type Open = { at: Point; node: string | null };
const ROOM: Point = [270, 320];

/** The menu, and what opens it: the right button, or the menu key at a block that has the focus. */
export function useContextMenu() {
  const [open, setOpen] = useState<Open | null>(null);
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!open) return;
    const outside = (event: Event) => {
      if (!(event.target instanceof Node && root.current?.contains(event.target))) setOpen(null);
    };
    window.addEventListener("pointerdown", outside, true);
    window.addEventListener("wheel", outside, true);
    return () => {
      window.removeEventListener("pointerdown", outside, true);
      window.removeEventListener("wheel", outside, true);
    };
  }, [open]);

  const onContextMenu = (event: MouseEvent) => {
    // A field keeps the browser's own menu, with paste and spelling.
    if (!(event.target instanceof Element) || event.target.closest("input, textarea, select, .note")) return;
    event.preventDefault();
    const id = event.target.closest(".react-flow__node-block")?.getAttribute("data-id");
    const node = id ? nameOf(id) : null;
    const { selection, select } = useStudio.getState();
    if (node && !selection.nodes.includes(node)) select({ nodes: [node] });
    const x = Math.max(0, Math.min(event.clientX, window.innerWidth - ROOM[0]));
    const y = Math.max(0, Math.min(event.clientY, window.innerHeight - ROOM[1]));
    setOpen({ at: [x, y], node });
  };
  const menu = open && (
    <div className="context-menu" ref={root} style={{ left: open.at[0], top: open.at[1] }}>
      <Commands
        label={open.node ? `Commands for ${open.node}` : "Commands for the page"}
        commands={open.node ? ofBlock(open.node) : ofPage(open.at)}
        onClose={() => {
          setOpen(null);
          if (open.node) focusBlock(open.node);
        }}
      />
    </div>
  );
  return { onContextMenu, menu };
}

function ofBlock(node: string): Command[] {
  const studio = useStudio.getState();
  const op = studio.ops.get(studio.document.nodes[node]?.op ?? "");
  const several = studio.selection.nodes.length > 1;
  return [
    { label: "Run up to here", keys: "Shift+Enter", run: () => void studio.runTo(studio.selection.nodes) },
    { label: "Differentiate…", keys: "D", run: () => studio.openDialog({ kind: "differentiate" }) },
    "line",
    {
      label: "Rename…",
      keys: "F2",
      disabled: several,
      run: () => studio.openDialog({ kind: "rename-node", node }),
    },
    { label: "Copy", keys: "Ctrl+C", run: () => void studio.copy() },
    { label: "Duplicate", keys: "Ctrl+D", run: () => studio.duplicate() },
    {
      label: several ? "Group the blocks" : "Put a frame around it",
      keys: "Ctrl+G",
      run: () => studio.groupSelection(),
    },
    { label: "Delete", keys: "Del", run: () => studio.removeSelection() },
    "line",
    { label: "What it does", keys: "F1", disabled: !op, run: () => op && studio.showHelp(op.name) },
  ];
}

function ofPage(at: Point): Command[] {
  const studio = useStudio.getState();
  const page = placeOnPage(at);
  return [
    { label: "Add a block…", keys: "Space", run: () => openSearch(at) },
    { label: "Add a note", keys: "N", run: () => studio.addNote(page) },
    { label: "Paste", keys: "Ctrl+V", run: () => void studio.paste() },
    "line",
    { label: "Tidy", keys: "T", run: () => void studio.tidy() },
    { label: "Fit the page", keys: "F", run: () => studio.bringIntoView([]) },
    { label: "Run the page", keys: "Ctrl+Enter", run: () => void studio.runAll() },
  ];
}
