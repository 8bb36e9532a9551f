// The studio's frame: bar, panels, canvas, status line, and what listens to the whole window.
import { ReactFlowProvider } from "@xyflow/react";
import { lazy, Suspense, useEffect } from "react";
import { Canvas } from "../canvas/Canvas";
import { Dialogs } from "../dialogs/Dialogs";
import { LensBar } from "../lens";
import { Outline } from "../outline/Outline";
import { FileList } from "../palette/FileList";
import { Palette } from "../palette/Palette";
import { QuickPalette } from "../palette/QuickPalette";
import { useStudio } from "../store";
import type { LeftTab } from "../store/types";
import { Icon, type IconName } from "../toolbar/Icon";
import { StatusBar } from "../toolbar/StatusBar";
import { Toolbar } from "../toolbar/Toolbar";
import { TimePanel } from "./TimePanel";
import { Toasts } from "./Toasts";
import { usePanelWidth } from "./usePanelWidth";
import { useWindow } from "./useWindow";

const Inspector = lazy(() => import("../inspector/Inspector").then((part) => ({ default: part.Inspector })));
const CaptureView = lazy(() => import("../capture/CaptureView").then((part) => ({ default: part.CaptureView })));
const HelpPanel = lazy(() => import("../help/HelpPanel").then((part) => ({ default: part.HelpPanel })));

export function App() {
  const fatal = useStudio((s) => s.fatal);
  const capture = useStudio((s) => s.capture);
  useWindow();
  useEffect(() => {
    void useStudio.getState().start();
  }, []);
  if (fatal) {
    return (
      <main className="fatal">
        <h1>gradbag studio</h1>
        <p>{fatal}</p>
        <button type="button" className="primary" onClick={() => location.reload()}>
          Try again
        </button>
      </main>
    );
  }
  return (
    <ReactFlowProvider>
      <div className="studio">
        <Toolbar />
        <div className="middle">
          <LeftPanel />
          <main className="stage" aria-label="Page">
            {capture ? (
              <Suspense fallback={<p className="quiet">Loading…</p>}>
                <CaptureView key={capture} path={capture} />
              </Suspense>
            ) : (
              <>
                <Canvas />
                <LensBar />
                <TimePanel />
              </>
            )}
          </main>
          <RightPanel />
        </div>
        <StatusBar />
        <QuickPalette />
        <Dialogs />
        <Toasts />
        <Spoken />
      </div>
    </ReactFlowProvider>
  );
}

const TABS: { tab: LeftTab; label: string; icon: IconName; key: string }[] = [
  { tab: "blocks", label: "Blocks", icon: "blocks", key: "B" },
  { tab: "files", label: "Files", icon: "file", key: "Ctrl+O" },
  { tab: "outline", label: "Outline", icon: "list", key: "O" },
];

function LeftPanel() {
  const { left, leftOpen } = useStudio((s) => s.panel);
  const setPanel = useStudio((s) => s.setPanel);
  return (
    <aside className={`panel left${leftOpen ? "" : " shut"}`} aria-label="Blocks, files and outline">
      <div className="tabs" role="tablist" aria-label="Left panel">
        {TABS.map(({ tab, label, icon, key }, place) => (
          <button
            key={tab}
            type="button"
            role="tab"
            id={`tab-${tab}`}
            aria-selected={leftOpen && left === tab}
            aria-controls="left-panel"
            tabIndex={left === tab ? 0 : -1}
            title={`${label} (${key})`}
            onClick={() => setPanel({ left: tab, leftOpen: !(leftOpen && left === tab) })}
            onKeyDown={(event) => {
              const by =
                event.key === "ArrowRight" || event.key === "ArrowDown"
                  ? 1
                  : event.key === "ArrowLeft" || event.key === "ArrowUp"
                    ? -1
                    : 0;
              const next = TABS[(place + by + TABS.length) % TABS.length];
              if (!by || !next) return;
              event.preventDefault();
              setPanel({ left: next.tab, leftOpen: true });
              document.getElementById(`tab-${next.tab}`)?.focus();
            }}
          >
            <Icon name={icon} />
            <span>{label}</span>
          </button>
        ))}
      </div>
      {leftOpen && (
        <div className="panel-body" id="left-panel" role="tabpanel" aria-labelledby={`tab-${left}`}>
          {left === "blocks" ? <Palette /> : left === "files" ? <FileList /> : <Outline />}
        </div>
      )}
    </aside>
  );
}

function RightPanel() {
  const { right, rightOpen, helpOp } = useStudio((s) => s.panel);
  const setPanel = useStudio((s) => s.setPanel);
  const node = useStudio((s) => s.selection.nodes.at(-1) ?? null);
  const { width, edge } = usePanelWidth();
  if (!rightOpen) return null;
  return (
    <aside
      className="panel right"
      aria-label={right === "help" ? "Help" : "Inspector"}
      {...(width ? { style: { width } } : {})}
    >
      <div {...edge} />
      <h2 className="spoken">{right === "help" ? "Help" : "Inspector"}</h2>
      <Suspense fallback={<p className="quiet">Loading…</p>}>
        {right === "help" && helpOp ? (
          <HelpPanel
            op={helpOp}
            onClose={() => setPanel({ right: "inspector" })}
            onTry={() => {
              const studio = useStudio.getState();
              const name = studio.addBlock(helpOp, freePlace());
              if (name) {
                studio.bringIntoView([name]);
                void studio.runTo([name]);
              }
            }}
          />
        ) : (
          <Inspector node={node} />
        )}
      </Suspense>
    </aside>
  );
}

/** Right of everything that is on the page. */
function freePlace(): [number, number] {
  const places = Object.values(useStudio.getState().document.layout ?? {});
  if (!places.length) return [40, 40];
  return [Math.max(...places.map(([x]) => x)) + 360, Math.min(...places.map(([, y]) => y))];
}

function Spoken() {
  const spoken = useStudio((s) => s.spoken);
  return (
    <div className="spoken" role="status" aria-live="polite" aria-atomic="true">
      {spoken}
    </div>
  );
}
