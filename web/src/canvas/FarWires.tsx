// All wires as one path per family of dtypes.
import { ViewportPortal } from "@xyflow/react";
import { memo, useMemo } from "react";
import { useStudio } from "../store";
import { type Family, familyOf } from "./dtype";
import type { BlockNode, NoteNode, WireEdge } from "./nodes";
import { HEAD, ROW } from "./sizes";

type Props = { items: readonly (BlockNode | NoteNode)[]; edges: readonly WireEdge[] };

export const FarWires = memo(function FarWires({ items, edges }: Props) {
  const check = useStudio((s) => s.check);
  const paths = useMemo(() => {
    const blocks = new Map(items.flatMap((item) => (item.type === "block" ? [[item.id, item] as const] : [])));
    const made = new Map<Family, string[]>();
    for (const edge of edges) {
      const from = blocks.get(edge.source);
      const to = blocks.get(edge.target);
      if (!from || !to) continue;
      const out = from.data.box.rows.outputs.indexOf(edge.sourceHandle ?? "");
      const into = to.data.box.rows.inputs.findIndex((row) => row.port === edge.targetHandle);
      const x1 = from.position.x + from.data.box.width;
      const y1 = from.position.y + HEAD + ROW * (Math.max(out, 0) + 0.5);
      const x2 = to.position.x;
      const y2 = to.position.y + HEAD + ROW * (Math.max(into, 0) + 0.5);
      const bend = Math.max(40, Math.abs(x2 - x1) / 2);
      const slot = check?.nodes[edge.data?.sourceNode ?? ""]?.outputs[Math.max(out, 0)];
      const family = familyOf(slot?.dtype);
      const path = `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`;
      const list = made.get(family);
      if (list) list.push(path);
      else made.set(family, [path]);
    }
    return [...made].map(([family, list]) => [family, list.join("")] as const);
  }, [items, edges, check]);
  return (
    <ViewportPortal>
      <svg className="far-wires" width="1" height="1" aria-hidden="true" focusable="false">
        {paths.map(([family, path]) => (
          <path key={family} className={`wire ${family}`} d={path} />
        ))}
      </svg>
    </ViewportPortal>
  );
});
