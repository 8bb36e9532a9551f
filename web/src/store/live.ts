// Live mode: an edit runs the page at once. Edits that come while it runs are one more run after it.
import type { StoreApi } from "zustand";
import type { Store } from "./types";

export function living(store: StoreApi<Store>): void {
  let waits = false;

  const go = () => {
    const { run, file, live, session } = store.getState();
    if (!live || !session || !file.trusted || !waits) return;
    if (run.state !== "idle") return; // its end is heard below
    waits = false;
    void store.getState().runAll();
  };

  store.subscribe((state, before) => {
    if (!state.live) {
      waits = false;
      return;
    }
    const begins = !before.live;
    const edited = state.document !== before.document && state.document.nodes !== before.document.nodes;
    if (begins || edited) waits = canRun(state);
    if (waits && (begins || edited || state.run.state !== before.run.state)) queueMicrotask(go);
  });
}

/** A training is not begun anew with every move of the mouse. */
function canRun({ document }: Store): boolean {
  const loops = Object.values(document.runs ?? {}).some((run) => run.mode === "loop");
  return !loops && Object.keys(document.nodes).length > 0;
}
