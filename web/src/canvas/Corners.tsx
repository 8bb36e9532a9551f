// What lies over the canvas in its corners: the buttons for zooming, and a map of the page.
import { Panel as FlowPanel, MiniMap, useReactFlow } from "@xyflow/react";
import type { ReactNode } from "react";
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { type Item, nameOf } from "./nodes";

export function ZoomPanel() {
  const flow = useReactFlow();
  return (
    <FlowPanel position="bottom-left" className="zoom-panel">
      <ZoomButton label="Zoom out" shortcut="-" onClick={() => void flow.zoomOut()}>
        <span className="glyph" aria-hidden="true">
          −
        </span>
      </ZoomButton>
      <ZoomButton label="Zoom in" shortcut="+" onClick={() => void flow.zoomIn()}>
        <Icon name="plus" />
      </ZoomButton>
      <ZoomButton label="Fit the page" shortcut="F" onClick={() => useStudio.getState().bringIntoView([])}>
        <Icon name="fit" />
      </ZoomButton>
    </FlowPanel>
  );
}

type ButtonProps = { label: string; shortcut: string; onClick(): void; children: ReactNode };

function ZoomButton({ label, shortcut, onClick, children }: ButtonProps) {
  return (
    <button type="button" className="ghost" title={`${label} (${shortcut})`} aria-label={label} onClick={onClick}>
      {children}
    </button>
  );
}

export function PageMap() {
  return (
    <MiniMap<Item>
      pannable
      zoomable
      ariaLabel="Map of the page"
      nodeClassName={(node) => (node.type === "block" ? mapClass(nameOf(node.id)) : `map-${node.type}`)}
      nodeBorderRadius={3}
    />
  );
}

function mapClass(name: string): string {
  const { results, problemsOf } = useStudio.getState();
  return `map-block${problemsOf.has(name) || results[name]?.error ? " map-bad" : ""}`;
}
