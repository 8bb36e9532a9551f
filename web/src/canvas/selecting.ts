// The canvas selects by its own changes; the store holds what is selected.
import type { FocusEvent, MouseEvent } from "react";
import { useStudio } from "../store";
import { type Item, nameOf } from "./nodes";

type Changes = readonly { id: string; selected: boolean }[];

function changed(names: readonly string[], changes: Changes): string[] {
  const now = new Set(names);
  for (const { id, selected } of changes) {
    if (selected) now.add(id);
    else now.delete(id);
  }
  return [...now];
}

export function selectItems(changes: Changes): void {
  if (!changes.length) return;
  const { selection, select } = useStudio.getState();
  const after = (kind: string, names: readonly string[]) =>
    changed(
      names,
      changes.flatMap(({ id, selected }) => (id.startsWith(kind) ? [{ id: nameOf(id), selected }] : [])),
    );
  select({
    ...selection,
    nodes: after("n:", selection.nodes),
    groups: after("g:", selection.groups),
    notes: after("t:", selection.notes),
  });
}

export function selectWires(changes: Changes): void {
  const { selection, select } = useStudio.getState();
  select({ ...selection, wires: changed(selection.wires, changes) });
}

/** One of several that are selected: from now on it alone is. */
export function selectAlone(event: MouseEvent, item: Item): void {
  const { selection, select } = useStudio.getState();
  const more = event.shiftKey || event.ctrlKey || event.metaKey;
  if (selection.nodes.length > 1 && item.type === "block" && !more) select({ nodes: [nameOf(item.id)] });
}

/** What is reached by Tab is what keys mean. */
export function selectFocused({ target }: FocusEvent): void {
  if (!target.matches(".react-flow__node-block:focus-visible, .react-flow__edge:focus-visible")) return;
  const id = target.getAttribute("data-id");
  if (!id) return;
  useStudio.getState().select(target.matches(".react-flow__edge") ? { wires: [id] } : { nodes: [nameOf(id)] });
}
