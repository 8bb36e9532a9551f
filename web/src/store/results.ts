// What a run's events say: the results by node, and how far the run is.
import type { StudioEvent } from "../api/types";
import type { Result, RunState } from "./types";

const UNKNOWN: Result = { key: null, state: "queued", seconds: 0, outputs: [], error: null };

/** The results and the run after some events. */
export function told(
  results: Record<string, Result>,
  run: RunState,
  events: readonly StudioEvent[],
  checked?: Record<string, { key: string | null }>, // the nodes as they are now, where that is known
): { results: Record<string, Result>; run: RunState } {
  const next = { ...results };
  let now = run;
  for (const event of events) {
    switch (event.type) {
      case "queued":
        now = { ...now, state: now.state === "stepping" ? "stepping" : "queued" };
        break;
      case "started":
        now = { ...now, state: now.state === "stepping" ? "stepping" : "running" };
        break;
      case "node": {
        const before = next[event.node] ?? UNKNOWN;
        if (event.state === "running") next[event.node] = { ...before, state: "running", error: null };
        else {
          const { key, seconds, outputs } = event;
          next[event.node] = { key, state: event.state, seconds, outputs, error: null };
        }
        break;
      }
      case "progress": {
        const { done, total, step, steps } = event;
        now = { ...now, done, total, step, steps };
        break;
      }
      case "error": {
        const { node, port, text, kind } = event;
        if (node) {
          const error = { port, text, kind, ...(checked ? { of: checked[node]?.key ?? null } : {}) };
          next[node] = { ...(next[node] ?? UNKNOWN), state: "error", key: null, error };
        }
        now = { ...now, error: node ? `${node}: ${text}` : text };
        break;
      }
      case "finished": {
        const { state, seconds, ran, cached, mismatches } = event;
        const stepping = now.state === "stepping" && now.next !== null && state === "done";
        now = stepping
          ? { ...now, seconds, ran, cached }
          : { ...now, id: null, state: "idle", next: null, outcome: state, seconds, ran, cached, mismatches };
        for (const node of event.stale) {
          const result = next[node];
          if (result && !result.outdated) next[node] = { ...result, outdated: true };
        }
        // What had begun when the run ended has no value of this run.
        for (const [node, result] of Object.entries(next)) {
          if (result.state === "running" || result.state === "queued") {
            if (result.outputs.length) next[node] = { ...result, state: "done" };
            else delete next[node];
          }
        }
        break;
      }
    }
  }
  return { results: next, run: now };
}
