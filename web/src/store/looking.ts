// The row lens: what a row of a value comes from, and what it goes into.
import { api, reason } from "../api/client";
import type { GetState, SetState } from "./parts";
import type { Actions, LensState } from "./types";

export function looking(set: SetState, get: GetState) {
  return {
    async look(node, port, index, cell) {
      const { document, file } = get();
      const told = cell ?? null;
      const asked: LensState = { node, port, index, cell: told, lens: null, error: "", difference: null, lit: null };
      set({ lens: asked });
      const answered = (answer: Partial<LensState>) => {
        if (get().lens === asked) set({ lens: { ...asked, ...answer } });
      };
      try {
        answered({ lens: await api.lens({ page: document, path: file.path, node, port, index, cell: told }) });
      } catch (problem) {
        answered({ error: reason(problem) });
      }
    },
    async checkGradient() {
      const { document, file, client, lens } = get();
      if (!lens?.cell) return;
      const { node, cell } = lens;
      try {
        const difference = await api.difference({ page: document, path: file.path, node, index: cell, client });
        const now = get().lens;
        if (now?.node === node && now.cell === cell) set({ lens: { ...now, difference } });
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },
    pointAt: (lit) => set((state) => (state.lens ? { lens: { ...state.lens, lit } } : {})),
    closeLens: () => set({ lens: null }),
  } satisfies Partial<Actions>;
}
