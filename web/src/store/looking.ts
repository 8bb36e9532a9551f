// The row lens: what a row of a value comes from, and what it goes into.
import { api, reason } from "../api/client";
import type { GetState, SetState } from "./parts";
import type { Actions, LensState } from "./types";

export function looking(set: SetState, get: GetState) {
  return {
    async look(node, port, index) {
      const { document, file } = get();
      const asked = { node, port, index, lens: null, error: "" };
      set({ lens: asked });
      const answered = (answer: Partial<LensState>) => {
        if (get().lens === asked) set({ lens: { ...asked, ...answer } });
      };
      try {
        answered({ lens: await api.lens({ page: document, path: file.path, node, port, index }) });
      } catch (problem) {
        answered({ error: reason(problem) });
      }
    },
    closeLens: () => set({ lens: null }),
  } satisfies Partial<Actions>;
}
