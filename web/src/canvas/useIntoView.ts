// Brings into view what the store asks for. A page that was just opened stays in view while its first values make it grow.
import { getViewportForBounds, type Rect, useReactFlow, type Viewport } from "@xyflow/react";
import { useCallback, useEffect, useRef } from "react";
import type { Document } from "../api/types";
import { useStudio } from "../store";
import type { FocusRequest } from "../store/types";
import { blockId, type Item, type WireEdge } from "./nodes";
import { canvasView, ZOOM } from "./view";

const READABLE = 0.75;
const AROUND = { top: "24px", x: "32px", bottom: "64px" } as const; // below are the buttons
const GROWING_MS = 10_000; // so long an opened page waits for its first values
const SOON_MS = 60; // after what is new has been drawn
const calm = () => window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** All of the bounds, or where that were too small to read, their beginning. */
export function viewOf(bounds: Rect, room: { width: number; height: number }, readable: boolean): Viewport {
  const whole = getViewportForBounds(bounds, room.width, room.height, ZOOM.min, 1, AROUND);
  if (!readable || whole.zoom >= READABLE) return whole;
  const fits = bounds.height * READABLE < room.height - 64;
  const top = fits ? (room.height - bounds.height * READABLE) / 2 : 32;
  return { x: 32 - bounds.x * READABLE, y: top - bounds.y * READABLE, zoom: READABLE };
}

/** `sizes` counts the measurements of blocks. To be told when the view is moved: by hand, an opened page is left alone. */
export function useIntoView(sizes: number): (event: unknown) => void {
  const request = useStudio((s) => s.focusRequest);
  const document = useStudio((s) => s.document);
  const flow = useReactFlow<Item, WireEdge>();
  const moved = useRef(false); // by hand, since a page was opened
  const opened = useRef<{ request: FocusRequest; document: Document; until: number } | null>(null);

  const soon = ({ nodes, readable }: FocusRequest) => {
    const timer = setTimeout(() => {
      const ids = new Set(nodes.map(blockId));
      const wanted = flow.getNodes().filter((item) => !ids.size || ids.has(item.id));
      const room = canvasView.element?.getBoundingClientRect();
      if (!wanted.length || !room) return void flow.setViewport({ x: 0, y: 0, zoom: 1 });
      const view = viewOf(flow.getNodesBounds(wanted), room, readable);
      void flow.setViewport(view, { duration: calm() ? 0 : 220 });
    }, SOON_MS);
    return () => clearTimeout(timer);
  };

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new request counts, though it names the same blocks
  useEffect(() => {
    if (!request || (request.unmoved && moved.current)) return;
    if (request.readable && !request.unmoved) moved.current = false;
    opened.current = request.readable ? { request, document, until: performance.now() + GROWING_MS } : null;
    return soon(request);
  }, [request?.count]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a measurement or an edit, nothing else
  useEffect(() => {
    const still = opened.current?.document === document && performance.now() <= opened.current.until;
    if (!still) opened.current = null;
    return opened.current ? soon(opened.current.request) : undefined;
  }, [sizes, document]);
  return useCallback((event) => {
    if (!event) return; // a command has none
    opened.current = null;
    moved.current = true;
  }, []);
}
