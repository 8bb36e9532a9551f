// What is on the screen beside the page itself.
import type { GetState, SetState } from "./parts";
import type { Actions } from "./types";

const TOAST_FOR = 7000;

export function showing(set: SetState, get: GetState) {
  let toasts = 0;
  return {
    setPanel: (panel) => set((state) => ({ panel: { ...state.panel, ...panel } })),
    setTheme(theme) {
      set({ theme });
      try {
        if (theme === "system") localStorage.removeItem("gradbag-theme");
        else localStorage.setItem("gradbag-theme", theme);
      } catch {
        // Storage may be blocked; the choice then lasts as long as the tab.
      }
    },
    openDialog: (dialog) => set({ dialog, quick: null }),
    closeDialog: () => set({ dialog: null }),
    openQuick: (quick) => set({ quick }),
    closeQuick: () => set({ quick: null, wiring: null }),
    showHelp: (op) => set((state) => ({ panel: { ...state.panel, right: "help", rightOpen: true, helpOp: op } })),
    bringIntoView: (nodes, readable = false, unmoved = false) =>
      set((state) => ({ focusRequest: { nodes, readable, unmoved, count: (state.focusRequest?.count ?? 0) + 1 } })),
    goTo(node) {
      get().select({ nodes: [node] });
      get().bringIntoView([node]);
    },
    say: (text) => set({ spoken: text }),
    toast(tone, text) {
      const id = ++toasts;
      set((state) => ({
        toasts: [...state.toasts.filter((toast) => toast.text !== text), { id, tone, text }].slice(-4),
      }));
      setTimeout(() => get().dropToast(id), TOAST_FOR);
    },
    dropToast: (id) => set((state) => ({ toasts: state.toasts.filter((toast) => toast.id !== id) })),
  } satisfies Partial<Actions>;
}
