// The document as the canvas draws it, and what happens to it there by hand.
import { type EdgeChange, type NodeChange, useReactFlow } from "@xyflow/react";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { useStudio } from "../store";
import { changedItems, dropped } from "./dragging";
import { edgesOf, framesOf, type Item, itemsOf, type OwnItem, type WireEdge } from "./nodes";
import { selectItems, selectWires } from "./selecting";

export function useItems() {
  const document = useStudio((s) => s.document);
  const ops = useStudio((s) => s.ops);
  const results = useStudio((s) => s.results);
  const selection = useStudio((s) => s.selection);
  const flow = useReactFlow<Item, WireEdge>();
  const [items, setItems] = useState<OwnItem[]>([]);
  const [edges, setEdges] = useState<WireEdge[]>([]);
  const [sizes, setSizes] = useState(0); // counts the measurements that the items carry
  const dragging = useRef(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: what was measured is in the items
  useLayoutEffect(() => {
    if (!dragging.current) setItems((before) => itemsOf({ document, ops, results, selection }, before));
  }, [document, ops, results, selection, sizes]);
  useLayoutEffect(() => {
    setEdges((before) => edgesOf(document, ops, selection, before));
  }, [document, ops, selection]);
  const frames = useMemo(() => framesOf(document, items, selection), [document, items, selection]);
  const nodes = useMemo<Item[]>(() => (frames.length ? [...frames, ...items] : items), [frames, items]);

  const byHand = useMemo(() => {
    const start = () => {
      dragging.current = true;
    };
    const stop = (dragged: Item[]) => {
      dragging.current = false;
      const edit = dropped(dragged, flow.getNode);
      if (edit) useStudio.getState().edit(...edit);
    };
    return {
      onNodesChange(changes: NodeChange<Item>[]) {
        selectItems(changes.filter((change) => change.type === "select"));
        const local = changes.filter((change) => change.type === "position" || change.type === "dimensions");
        if (!local.length) return;
        setItems((before) => changedItems(before, local, useStudio.getState()));
        if (local.some((change) => change.type === "dimensions" && change.id.startsWith("n:"))) setSizes((n) => n + 1);
      },
      onEdgesChange: (changes: EdgeChange<WireEdge>[]) =>
        selectWires(changes.filter((change) => change.type === "select")),
      onNodeDragStart: start,
      onNodeDragStop: (_: unknown, __: unknown, dragged: Item[]) => stop(dragged),
      onSelectionDragStart: start,
      onSelectionDragStop: (_: unknown, dragged: Item[]) => stop(dragged),
    };
  }, [flow]);
  return { items, nodes, edges, sizes, byHand };
}
