// The canvas: the document's blocks, wires, groups and notes. Positions are local while something is dragged, one edit when it is dropped.
import {
  applyNodeChanges,
  Background,
  BackgroundVariant,
  type Connection,
  type EdgeChange,
  type FinalConnectionState,
  Panel as FlowPanel,
  getViewportForBounds,
  MiniMap,
  type NodeChange,
  type OnConnectStartParams,
  ReactFlow,
  useReactFlow,
  useStore,
} from "@xyflow/react";
import {
  type DragEvent,
  type MouseEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "react";
import type { Document, Point } from "../api/types";
import { inOrder, moveNodes, setNote } from "../page/edits";
import { useStudio } from "../store";
import type { FocusRequest, Selection } from "../store/types";
import { Icon } from "../toolbar/Icon";
import { Block } from "./Block";
import { EmptyPage } from "./EmptyPage";
import { FarWires } from "./FarWires";
import { Frame, NoteBox } from "./Frame";
import { FAR, Far } from "./far";
import {
  type BlockNode,
  blockId,
  edgesOf,
  framesOf,
  type GroupNode,
  type Item,
  itemsOf,
  type NoteNode,
  nameOf,
  type WireEdge,
} from "./nodes";
import { canvasView } from "./view";
import { Wire } from "./Wire";
import { WireHint } from "./WireHint";

const nodeTypes = { block: Block, frame: Frame, note: NoteBox };
const edgeTypes = { wire: Wire };
const NEAREST = { min: 0.05, max: 2.5 };
const READABLE = 0.75;
const AROUND = { top: "24px", x: "32px", bottom: "64px" } as const; // below are the buttons
const SPOKEN = {
  "node.a11yDescription.default": "Arrow keys go to other blocks, Enter edits the block, question mark shows all keys.",
  "node.a11yDescription.keyboardDisabled":
    "Arrow keys go to other blocks, Enter edits the block, question mark shows all keys.",
  "edge.a11yDescription.default": "Delete takes the wire away.",
};
const DRAGGED_OP = "application/x-gradbag-op";
const GROWING_MS = 10_000; // so long an opened page waits for its first values
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

export function Canvas() {
  const document = useStudio((s) => s.document);
  const ops = useStudio((s) => s.ops);
  const results = useStudio((s) => s.results);
  const selection = useStudio((s) => s.selection);
  const focusRequest = useStudio((s) => s.focusRequest);
  const lens = useStudio((s) => s.lens?.lens);
  const flow = useReactFlow<Item, WireEdge>();
  const far = useStore((s) => s.transform[2] < FAR);
  const [items, setItems] = useState<(BlockNode | NoteNode)[]>([]);
  const [edges, setEdges] = useState<WireEdge[]>([]);
  const [sizes, setSizes] = useState(0);
  const dragging = useRef(false);
  const wrapper = useRef<HTMLDivElement>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `sizes` counts the measurements that the items carry
  useLayoutEffect(() => {
    if (!dragging.current) setItems((before) => itemsOf({ document, ops, results, selection }, before));
  }, [document, ops, results, selection, sizes]);
  useLayoutEffect(() => {
    setEdges((before) => edgesOf(document, ops, selection, before));
  }, [document, ops, selection]);
  const frames = useMemo(() => framesOf(document, items, selection), [document, items, selection]);
  const nodes = useMemo<Item[]>(() => (frames.length ? [...frames, ...items] : items), [frames, items]);

  const lit = useMemo(
    () => (far ? edges.filter((edge) => edge.selected || lens?.wires.includes(edge.id)) : edges),
    [far, edges, lens],
  );

  useEffect(() => {
    canvasView.flow = flow;
    canvasView.element = wrapper.current;
  }, [flow]);

  // ---------------------------------------------------------------- into view
  const place = useCallback(
    ({ nodes: names, readable }: FocusRequest) => {
      const ids = new Set(names.map(blockId));
      const wanted = flow.getNodes().filter((item) => !ids.size || ids.has(item.id));
      const box = wrapper.current?.getBoundingClientRect();
      if (!wanted.length || !box) return void flow.setViewport({ x: 0, y: 0, zoom: 1 });
      const bounds = flow.getNodesBounds(wanted);
      let view = getViewportForBounds(bounds, box.width, box.height, NEAREST.min, 1, AROUND);
      if (readable && view.zoom < READABLE) {
        // The beginning, large enough to read.
        const fits = bounds.height * READABLE < box.height - 64;
        const top = fits ? (box.height - bounds.height * READABLE) / 2 : 32;
        view = { x: 32 - bounds.x * READABLE, y: top - bounds.y * READABLE, zoom: READABLE };
      }
      void flow.setViewport(view, { duration: calm() ? 0 : 220 });
    },
    [flow],
  );
  // A page that was just opened grows when its first values come: it stays in view until somebody moves or edits it.
  const opened = useRef<{ request: FocusRequest; document: Document; until: number } | null>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new request counts, though it names the same blocks
  useEffect(() => {
    if (!focusRequest) return;
    opened.current = focusRequest.readable
      ? { request: focusRequest, document, until: performance.now() + GROWING_MS }
      : null;
    const timer = setTimeout(() => place(focusRequest), 60);
    return () => clearTimeout(timer);
  }, [focusRequest?.count]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: `sizes` counts the measurements
  useEffect(() => {
    if (!opened.current) return;
    if (opened.current.document !== document || performance.now() > opened.current.until) {
      opened.current = null;
      return;
    }
    const { request } = opened.current;
    const timer = setTimeout(() => place(request), 60);
    return () => clearTimeout(timer);
  }, [sizes, document]);
  const onMoveStart = useCallback((event: unknown) => {
    if (event) opened.current = null; // by hand, not by a command
  }, []);

  // ---------------------------------------------------------------- changes by hand
  const onNodesChange = useCallback((changes: NodeChange<Item>[]) => {
    const selects = changes.filter((change) => change.type === "select");
    if (selects.length) applySelection(selects);
    const local = changes.filter((change) => change.type === "position" || change.type === "dimensions");
    if (!local.length) return;
    setItems((before) => {
      const shifts = framesShifted(
        local,
        before,
        useStudio.getState().document.groups ?? {},
        useStudio.getState().selection,
      );
      const own = local.filter((change) => !change.id.startsWith("g:"));
      const changed = own.length ? (applyNodeChanges(own, before as Item[]) as (BlockNode | NoteNode)[]) : before;
      if (!shifts.size) return changed;
      return changed.map((item) => {
        const by = shifts.get(item.id);
        return by ? { ...item, position: { x: item.position.x + by[0], y: item.position.y + by[1] } } : item;
      });
    });
    if (local.some((change) => change.type === "dimensions" && change.id.startsWith("n:"))) setSizes((n) => n + 1);
  }, []);

  const onEdgesChange = useCallback((changes: EdgeChange<WireEdge>[]) => {
    const { selection: now, select } = useStudio.getState();
    const wires = new Set(now.wires);
    for (const change of changes) {
      if (change.type !== "select") continue;
      if (change.selected) wires.add(change.id);
      else wires.delete(change.id);
    }
    select({ ...now, wires: [...wires] });
  }, []);

  const onDragStart = useCallback(() => {
    dragging.current = true;
  }, []);
  const onDragStop = useCallback(
    (_: unknown, __: unknown, dragged: Item[]) => {
      dragging.current = false;
      const studio = useStudio.getState();
      const moved = new Set(dragged.map((item) => item.id));
      for (const item of dragged) {
        if (item.type === "frame") for (const name of item.data.group.nodes) moved.add(blockId(name));
      }
      const positions: Record<string, Point> = {};
      const changes = [];
      for (const id of moved) {
        const item = flow.getNode(id);
        if (!item) continue;
        const at: Point = [item.position.x, item.position.y];
        if (item.type === "block") positions[nameOf(id)] = at;
        else if (item.type === "note") changes.push(setNote(nameOf(id), { ...item.data.note, at }));
      }
      const count = Object.keys(positions).length + changes.length;
      if (count) studio.edit(count === 1 ? "move" : `move ${count} items`, inOrder(moveNodes(positions), ...changes));
    },
    [flow],
  );

  // ---------------------------------------------------------------- wires
  const onConnectStart = useCallback((_: unknown, { nodeId, handleId, handleType }: OnConnectStartParams) => {
    if (!nodeId || !handleId) return;
    const side = handleType === "source" ? "output" : "input";
    void useStudio.getState().pickUp({ node: nameOf(nodeId), port: handleId, side }, "drag");
  }, []);
  const isValid = useCallback((connection: Connection | WireEdge) => {
    const { wiring, refusal } = useStudio.getState();
    if (!wiring || !connection.source || !connection.target) return true;
    const [id, port] =
      wiring.side === "output"
        ? [connection.target, connection.targetHandle]
        : [connection.source, connection.sourceHandle];
    return refusal({ node: nameOf(id), port: port ?? "", side: wiring.side === "output" ? "input" : "output" }) === "";
  }, []);
  const onConnect = useCallback((connection: Connection) => {
    const studio = useStudio.getState();
    void studio
      .connect(
        `${nameOf(connection.source)}.${connection.sourceHandle}`,
        nameOf(connection.target),
        connection.targetHandle ?? "",
      )
      .finally(() => useStudio.getState().putDown());
  }, []);
  const onConnectEnd = useCallback(
    (event: globalThis.MouseEvent | TouchEvent, state: FinalConnectionState) => {
      const studio = useStudio.getState();
      const held = studio.wiring;
      if (held?.way !== "drag") return;
      if (state.isValid) return; // onConnect has it
      if (state.toHandle) {
        const side = state.toHandle.type === "target" ? "input" : "output";
        const place = { node: nameOf(state.toHandle.nodeId), port: state.toHandle.id ?? "", side } as const;
        const why = studio.refusal(place);
        if (why && !(place.node === held.node && place.port === held.port)) {
          studio.toast("danger", `${held.node}.${held.port} does not fit ${place.node}.${place.port}: ${why}`);
        }
        return studio.putDown();
      }
      const point = "changedTouches" in event ? event.changedTouches[0] : event;
      if (!point) return studio.putDown();
      const under = point.target instanceof Element ? point.target.closest(".react-flow__node-block") : null;
      if (under) return studio.putDown();
      const { x, y } = flow.screenToFlowPosition({ x: point.clientX, y: point.clientY });
      studio.openQuick({ at: [point.clientX, point.clientY], position: [x, y - 56], wiring: held });
    },
    [flow],
  );

  // ---------------------------------------------------------------- the empty canvas
  const onDoubleClick = (event: MouseEvent) => {
    if (!(event.target instanceof Element) || !event.target.classList.contains("react-flow__pane")) return;
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    useStudio.getState().openQuick({ at: [event.clientX, event.clientY], position: [x, y], wiring: null });
  };
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer.types.includes(DRAGGED_OP)) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = "copy";
  };
  const onDrop = (event: DragEvent) => {
    const op = event.dataTransfer.getData(DRAGGED_OP);
    if (!op) return;
    event.preventDefault();
    event.stopPropagation();
    const { x, y } = flow.screenToFlowPosition({ x: event.clientX, y: event.clientY });
    useStudio.getState().addBlock(op, [x - 80, y - 20]);
  };

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: every gesture here has a key or a button as well
    <div
      className="canvas"
      ref={wrapper}
      onDoubleClick={onDoubleClick}
      onDragOver={onDragOver}
      onDrop={onDrop}
      onPointerMove={(event) => {
        canvasView.pointer = [event.clientX, event.clientY];
      }}
      onPointerLeave={() => {
        canvasView.pointer = null;
      }}
      onFocus={(event) => {
        const node = event.target.closest?.(".react-flow__node-block");
        // A block reached by Tab is the one that keys mean.
        if (node === event.target && node.matches(":focus-visible")) {
          const id = node.getAttribute("data-id");
          if (id) useStudio.getState().select({ nodes: [nameOf(id)] });
        }
        const wire = event.target.closest?.(".react-flow__edge");
        if (wire === event.target && wire.matches(":focus-visible")) {
          const id = wire.getAttribute("data-id");
          if (id) useStudio.getState().select({ wires: [id] });
        }
      }}
    >
      <Far value={far}>
        <ReactFlow<Item, WireEdge>
          nodes={nodes}
          edges={lit}
          nodeTypes={nodeTypes}
          edgeTypes={edgeTypes}
          onNodesChange={onNodesChange}
          onEdgesChange={onEdgesChange}
          onNodeDragStart={onDragStart}
          onNodeDragStop={onDragStop}
          onSelectionDragStart={onDragStart}
          onSelectionDragStop={(event, dragged) => onDragStop(event, null, dragged)}
          onMoveStart={onMoveStart}
          onConnectStart={onConnectStart}
          onConnect={onConnect}
          onConnectEnd={onConnectEnd}
          isValidConnection={isValid}
          onPaneClick={() => {
            const studio = useStudio.getState();
            if (studio.wiring) studio.putDown();
            studio.closeQuick();
          }}
          connectOnClick={false}
          connectionDragThreshold={4}
          connectionRadius={18}
          onlyRenderVisibleElements
          elevateNodesOnSelect={false}
          disableKeyboardA11y
          deleteKeyCode={null}
          panActivationKeyCode={null}
          selectionKeyCode="Shift"
          onNodeClick={(event, node) => {
            // One of several that are selected: from now on it alone is.
            const several = useStudio.getState().selection.nodes.length > 1;
            if (several && node.type === "block" && !event.shiftKey && !event.ctrlKey && !event.metaKey)
              useStudio.getState().select({ nodes: [nameOf(node.id)] });
          }}
          multiSelectionKeyCode={["Shift", "Control", "Meta"]}
          zoomOnDoubleClick={false}
          minZoom={NEAREST.min}
          maxZoom={NEAREST.max}
          snapToGrid
          snapGrid={[4, 4]}
          nodeDragThreshold={3}
          aria-label="Canvas"
          ariaLabelConfig={SPOKEN}
        >
          <Background variant={BackgroundVariant.Dots} gap={24} size={1.4} />
          {/* A page of few blocks fits the window, and the map would only hide one of them. */}
          {items.length > 8 && (
            <MiniMap<Item>
              pannable
              zoomable
              ariaLabel="Map of the page"
              nodeClassName={(node) => (node.type === "block" ? minimapClass(nameOf(node.id)) : `map-${node.type}`)}
              nodeBorderRadius={3}
            />
          )}
          <FlowPanel position="bottom-left" className="zoom-panel">
            <button
              type="button"
              className="ghost"
              title="Zoom out (-)"
              aria-label="Zoom out"
              onClick={() => void flow.zoomOut()}
            >
              <span className="glyph" aria-hidden="true">
                −
              </span>
            </button>
            <button
              type="button"
              className="ghost"
              title="Zoom in (+)"
              aria-label="Zoom in"
              onClick={() => void flow.zoomIn()}
            >
              <Icon name="plus" />
            </button>
            <button
              type="button"
              className="ghost"
              title="Fit the page (F)"
              aria-label="Fit the page"
              onClick={() => useStudio.getState().bringIntoView([])}
            >
              <Icon name="fit" />
            </button>
          </FlowPanel>
          {far && <FarWires items={items} edges={edges} />}
        </ReactFlow>
      </Far>
      <EmptyPage />
      <WireHint />
    </div>
  );
}

function minimapClass(name: string): string {
  const { results, problemsOf } = useStudio.getState();
  return `map-block${problemsOf.has(name) || results[name]?.error ? " map-bad" : ""}`;
}

/** The selection after the canvas has changed it. */
function applySelection(changes: { id: string; selected: boolean }[]): void {
  const { selection, select } = useStudio.getState();
  const sets: Record<string, Set<string>> = {
    n: new Set(selection.nodes),
    g: new Set(selection.groups),
    t: new Set(selection.notes),
  };
  for (const { id, selected } of changes) {
    const names = sets[id.slice(0, 1)];
    if (selected) names?.add(nameOf(id));
    else names?.delete(nameOf(id));
  }
  const list = (kind: string) => [...(sets[kind] ?? [])];
  select({ ...selection, nodes: list("n"), groups: list("g"), notes: list("t") });
}

/** How far the blocks of dragged frames move. A block that is dragged itself moves on its own. */
function framesShifted(
  changes: NodeChange<Item>[],
  items: readonly (BlockNode | NoteNode)[],
  groups: Record<string, { title: string; nodes: string[] }>,
  selection: Selection,
): Map<string, Point> {
  const found = new Map<string, Point>();
  const moved = changes.filter((change) => change.type === "position" && change.position !== undefined);
  const frames = moved.filter((change) => "id" in change && change.id.startsWith("g:"));
  if (!frames.length) return found;
  const now: GroupNode[] = framesOf({ format: "", nodes: {}, groups }, items, selection);
  for (const change of frames) {
    if (change.type !== "position" || !change.position) continue;
    const frame = now.find((one) => one.id === change.id);
    if (!frame) continue;
    const by: Point = [change.position.x - frame.position.x, change.position.y - frame.position.y];
    for (const name of frame.data.group.nodes) {
      const id = blockId(name);
      if (!moved.some((other) => "id" in other && other.id === id)) found.set(id, by);
    }
  }
  return found;
}
