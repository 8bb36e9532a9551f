// Time: what a loop has left of its rounds. A block shows the last run, or one round of it.
import { api, reason } from "../api/client";
import type { GetState, SetState } from "./parts";
import type { Actions, Result } from "./types";

const MOST_PINNED = 4;

export function timing(set: SetState, get: GetState) {
  let last: Record<string, Result> | null = null; // the results of the last run, while a round is shown

  return {
    async loadTimeline() {
      const { file, client, timeline } = get();
      try {
        const { rounds, series } = await api.rounds({ path: file.path, client });
        last = null;
        if (rounds.length > 1) set({ timeline: { rounds, series, shown: null, pinned: timeline?.pinned ?? [] } });
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },
    async showRound(round) {
      const { file, client, timeline, results } = get();
      if (!timeline) return;
      if (round === null) {
        if (last) set({ results: last });
        last = null;
        set({ timeline: { ...timeline, shown: null } });
        return;
      }
      set({ timeline: { ...timeline, shown: round } });
      try {
        const found = await api.round({ path: file.path, client, round });
        if (get().timeline?.shown !== round) return; // a later one is asked for
        last ??= results;
        const shown = { ...last };
        for (const { node, outputs } of found.nodes) {
          const before = shown[node];
          if (before) shown[node] = { ...before, outputs, error: null };
        }
        set({ results: shown, lens: null });
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },
    pinCurve(name) {
      const { timeline } = get();
      const line = timeline?.series.find((one) => one.name === name);
      if (!timeline || !line) return;
      const pinned = [...timeline.pinned, { name, rounds: timeline.rounds, values: line.values }];
      set({ timeline: { ...timeline, pinned: pinned.slice(-MOST_PINNED) } });
      get().say(`The curve of ${name} stays for comparison`);
    },
    closeTimeline() {
      if (last) set({ results: last });
      last = null;
      set({ timeline: null });
    },
  } satisfies Partial<Actions>;
}
