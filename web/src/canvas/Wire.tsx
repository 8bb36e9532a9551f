// A wire in the colour of what flows through it.
import { BaseEdge, type EdgeProps, getBezierPath } from "@xyflow/react";
import { memo } from "react";
import { useStudio } from "../store";
import { familyOf } from "./dtype";
import type { WireEdge } from "./nodes";

export const Wire = memo(function Wire(props: EdgeProps<WireEdge>) {
  const { id, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition, selected, data } = props;
  const dtype = useStudio((s) => {
    const outputs = data && s.check?.nodes[data.sourceNode]?.outputs;
    return outputs?.find((slot) => slot.name === data?.sourcePort)?.dtype;
  });
  const lens = useStudio((s) =>
    s.lens?.lens
      ? s.lens.lens.wires.includes(id)
        ? `lit ${s.lens.lens.fed.includes(id) ? "fed" : "feeds"}`
        : "unlit"
      : "",
  );
  const running = useStudio((s) => data !== undefined && s.results[data.node]?.state === "running");
  const [path] = getBezierPath({ sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition });
  const names = ["wire", familyOf(dtype), selected ? "selected" : "", lens, running ? "flowing" : ""];
  return <BaseEdge id={id} path={path} className={names.filter(Boolean).join(" ")} interactionWidth={18} />;
});
