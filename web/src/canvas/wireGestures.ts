// Wires that are dragged: picked up at a dot, put down at another, or in the void, where blocks that fit are offered.
import type { Connection, FinalConnectionState, OnConnectStartParams } from "@xyflow/react";
import { useStudio } from "../store";
import { nameOf, type WireEdge } from "./nodes";
import { placeOnPage } from "./view";

const studio = useStudio.getState;

export const wireGestures = {
  onConnectStart(_: unknown, { nodeId, handleId, handleType }: OnConnectStartParams) {
    if (!nodeId || !handleId) return;
    const side = handleType === "source" ? "output" : "input";
    void studio().pickUp({ node: nameOf(nodeId), port: handleId, side }, "drag");
  },

  isValidConnection({ source, sourceHandle, target, targetHandle }: Connection | WireEdge): boolean {
    const { wiring, refusal } = studio();
    if (!wiring || !source || !target) return true;
    const place =
      wiring.side === "output"
        ? ({ node: nameOf(target), port: targetHandle ?? "", side: "input" } as const)
        : ({ node: nameOf(source), port: sourceHandle ?? "", side: "output" } as const);
    return refusal(place) === "";
  },

  onConnect({ source, sourceHandle, target, targetHandle }: Connection) {
    void studio()
      .connect(`${nameOf(source)}.${sourceHandle}`, nameOf(target), targetHandle ?? "")
      .finally(() => studio().putDown());
  },

  onConnectEnd(event: MouseEvent | TouchEvent, { isValid, toHandle }: FinalConnectionState) {
    const { wiring: held, refusal, toast, putDown, openQuick } = studio();
    if (held?.way !== "drag" || isValid) return; // onConnect has what is valid
    if (toHandle) {
      const side = toHandle.type === "target" ? "input" : "output";
      const place = { node: nameOf(toHandle.nodeId), port: toHandle.id ?? "", side } as const;
      const why = refusal(place);
      if (why && !(place.node === held.node && place.port === held.port)) {
        toast("danger", `${held.node}.${held.port} does not fit ${place.node}.${place.port}: ${why}`);
      }
      return putDown();
    }
    const point = "changedTouches" in event ? event.changedTouches[0] : event;
    if (!point || (point.target instanceof Element && point.target.closest(".react-flow__node-block"))) {
      return putDown();
    }
    const [x, y] = placeOnPage([point.clientX, point.clientY]);
    openQuick({ at: [point.clientX, point.clientY], position: [x, y - 56], wiring: held });
  },
};
