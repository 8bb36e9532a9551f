// The canvas: the document's blocks, wires, groups and notes.
import { Background, BackgroundVariant, ReactFlow, useReactFlow, useStore } from "@xyflow/react";
import { useEffect, useMemo, useRef } from "react";
import { useStudio } from "../store";
import { Block } from "./Block";
import { useContextMenu } from "./ContextMenu";
import { PageMap, ZoomPanel } from "./Corners";
import { EmptyPage } from "./EmptyPage";
import { FarWires } from "./FarWires";
import { Frame, NoteBox } from "./Frame";
import { FrozenGradients } from "./FrozenGradients";
import { distanceAt, Far } from "./far";
import type { Item, WireEdge } from "./nodes";
import { OpenGradients } from "./OpenGradients";
import { letWireGo, paneGestures } from "./paneGestures";
import { selectAlone, selectFocused } from "./selecting";
import { useIntoView } from "./useIntoView";
import { useItems } from "./useItems";
import { canvasView, ZOOM } from "./view";
import { Wire } from "./Wire";
import { WireHint } from "./WireHint";
import { wireGestures } from "./wireGestures";

const nodeTypes = { block: Block, frame: Frame, note: NoteBox };
const edgeTypes = { wire: Wire };
const BLOCK_SPOKEN = "Arrow keys go to other blocks, Enter edits the block, question mark shows all keys.";
const SPOKEN = {
  "node.a11yDescription.default": BLOCK_SPOKEN,
  "node.a11yDescription.keyboardDisabled": BLOCK_SPOKEN,
  "edge.a11yDescription.default": "Delete takes the wire away.",
};

export function Canvas() {
  const lens = useStudio((s) => s.lens?.lens);
  const flow = useReactFlow<Item, WireEdge>();
  const distance = useStore((s) => distanceAt(s.transform[2]));
  const far = distance !== "near";
  const { onContextMenu, menu } = useContextMenu();
  const wrapper = useRef<HTMLDivElement>(null);
  const { items, nodes, edges, sizes, byHand } = useItems();
  const onMoveStart = useIntoView(sizes);
  const lit = useMemo(
    () => (far ? edges.filter((edge) => edge.selected || lens?.wires.includes(edge.id)) : edges),
    [far, edges, lens],
  );
  useEffect(() => {
    canvasView.flow = flow;
    canvasView.element = wrapper.current;
  }, [flow]);

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: every gesture here has a key or a button as well
    <div className="canvas" ref={wrapper} onFocus={selectFocused} onContextMenu={onContextMenu} {...paneGestures}>
      <Far value={distance}>
        <ReactFlow<Item, WireEdge>
          nodes={nodes}
          edges={lit}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          {...byHand}
          {...wireGestures}
          onMoveStart={onMoveStart}
          onPaneClick={letWireGo}
          onNodeClick={selectAlone}
          connectOnClick={false}
          connectionDragThreshold={4}
          connectionRadius={18}
          onlyRenderVisibleElements
          elevateNodesOnSelect={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          panActivationKeyCode={null}
          selectionKeyCode="Shift"
          multiSelectionKeyCode={["Shift", "Control", "Meta"]}
          zoomOnDoubleClick={false}
          minZoom={ZOOM.min}
          maxZoom={ZOOM.max}
          snapToGrid
          snapGrid={[4, 4]}
          nodeDragThreshold={3}
          aria-label="Canvas"
          ariaLabelConfig={SPOKEN}
        >
          <Background variant={BackgroundVariant.Dots} gap={24} size={1.4} />
          {/* A page of few blocks fits the window, and the map would only hide one of them. */}
          {items.length > 8 && <PageMap />}
          <ZoomPanel />
          {far && <FarWires items={items} edges={edges} />}
          <OpenGradients items={items} />
        </ReactFlow>
      </Far>
      <EmptyPage />
      <FrozenGradients />
      <WireHint />
      {menu}
    </div>
  );
}
