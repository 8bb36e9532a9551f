// Runs: asked for over HTTP, told by events. Events wait for the next frame, so that a large page is drawn once and not per node.
import { api, Refused, reason } from "../api/client";
import type { StudioEvent } from "../api/types";
import { IDLE } from "./initial";
import type { GetState, SetState } from "./parts";
import type { Actions, Result, RunState, Store } from "./types";

export const CLIENT = crypto.randomUUID();

type Running = Pick<
  Actions,
  | "runAll"
  | "runNamed"
  | "runTo"
  | "runStep"
  | "runLoop"
  | "stop"
  | "setLoopSteps"
  | "setRunName"
  | "look"
  | "closeLens"
>;

let waiting: StudioEvent[] = []; // for the next frame
let unclaimed: StudioEvent[] = []; // of a run whose id has not come yet
let asking = 0;
let frame = false;
let following: string[] = []; // the page's runs that come after the one under way

export function running(set: SetState, get: GetState): Running {
  const ask = async (targets: string[] | null, steps: number, run: string | null) => {
    if (get().run.state === "running" || get().run.state === "queued") return;
    const { document, file } = get();
    if (!Object.keys(document.nodes).length) return get().toast("info", "There is nothing to run yet: add a block.");
    const again = () => void ask(targets, steps, run);
    if (!file.trusted) return get().openDialog({ kind: "trust", onYes: again });
    set({ run: { ...IDLE, state: "queued", targets, steps }, lens: null });
    asking += 1;
    try {
      const { id } = await api.run({ page: document, path: file.path, run, targets, steps, client: CLIENT });
      claim(set, get, id);
    } catch (problem) {
      failed(problem, again);
    } finally {
      settle();
    }
  };

  const failed = (problem: unknown, again: () => void) => {
    set({ run: { ...get().run, id: null, state: "idle", next: null } });
    if (problem instanceof Refused && problem.kind === "untrusted") {
      get().openDialog({ kind: "trust", onYes: again });
    } else if (problem instanceof Refused && problem.node) {
      apply(set, get, [
        { type: "error", id: "", node: problem.node, port: problem.port, text: problem.message, kind: problem.kind },
      ]);
    } else {
      set({ run: { ...get().run, outcome: "failed", error: reason(problem) } });
      get().toast("danger", reason(problem));
    }
  };

  return {
    runAll() {
      const names = runNames(get());
      following = names.slice(1);
      return ask(null, stepsOf(get(), names[0]), names[0] ?? null);
    },
    runTo(nodes) {
      following = [];
      return nodes.length ? ask(nodes, 1, null) : Promise.resolve();
    },
    runLoop(steps) {
      following = [];
      const names = runNames(get());
      return ask(null, steps, names.find((name) => stepsOf(get(), name) > 1) ?? names[0] ?? null);
    },
    runNamed: (name) => ask(null, stepsOf(get(), name), name),
    setRunName: (name) => set({ runName: name }),
    async runStep() {
      const { run, document, file, selection } = get();
      if (run.state === "running" || run.state === "queued") return;
      if (!Object.keys(document.nodes).length) return get().toast("info", "There is nothing to run yet: add a block.");
      const again = () => void get().runStep();
      if (!file.trusted) return get().openDialog({ kind: "trust", onYes: again });
      const on = run.state === "stepping" ? run.id : null;
      const targets = on ? run.targets : selection.nodes.length ? selection.nodes : null;
      asking += 1;
      try {
        const answer = await api.step({ page: document, path: file.path, targets, id: on, client: CLIENT });
        set({
          run: {
            ...(on ? get().run : IDLE),
            id: answer.next === null ? null : answer.id,
            state: answer.next === null ? "idle" : "stepping",
            targets,
            next: answer.next,
            done: answer.done.length,
            outcome: answer.next === null ? "done" : null,
          },
        });
        claim(set, get, answer.id);
        const last = answer.done.at(-1);
        if (last) {
          get().select({ nodes: [last] });
          get().say(answer.next ? `${last} has run; next is ${answer.next}` : `${last} has run; that was the last`);
        }
      } catch (problem) {
        failed(problem, again);
      } finally {
        settle();
      }
    },
    async stop() {
      following = [];
      const { run } = get();
      if (run.state === "stepping") set({ run: { ...IDLE, outcome: "stopped" } });
      if (!run.id) return;
      try {
        await api.stop(run.id);
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },
    setLoopSteps: (steps) => set({ loopSteps: Math.max(1, Math.min(1_000_000, Math.round(steps) || 1)) }),

    async look(node, port, index) {
      const { document, file } = get();
      set({ lens: { node, port, index, lens: null, error: "" } });
      const still = () => get().lens?.node === node && get().lens?.port === port && get().lens?.index === index;
      try {
        const lens = await api.lens({ page: document, path: file.path, node, port, index });
        if (still()) set({ lens: { node, port, index, lens, error: "" } });
      } catch (problem) {
        if (still()) set({ lens: { node, port, index, lens: null, error: reason(problem) } });
      }
    },
    closeLens: () => set({ lens: null }),
  };
}

/** The runs that Run means: the chosen one, or all in the page's order. */
function runNames({ document, runName }: Store): string[] {
  const names = Object.keys(document.runs ?? {});
  return names.includes(runName) ? [runName] : names;
}

function stepsOf({ document }: Store, name: string | undefined): number {
  const run = name === undefined ? undefined : document.runs?.[name];
  return run?.mode === "loop" ? (run.steps ?? 1) : 1;
}

function settle(): void {
  asking -= 1;
  if (!asking) unclaimed = [];
}

/** A run's id has come: the events that came before it are its own. */
function claim(set: SetState, get: GetState, id: string): void {
  if (get().run.state === "queued" || get().run.state === "running") set({ run: { ...get().run, id } });
  const own = unclaimed.filter((event) => "id" in event && event.id === id);
  apply(set, get, own);
}

/** An event from the socket. */
export function received(set: SetState, get: GetState, event: StudioEvent): void {
  if ("id" in event && event.id !== get().run.id) {
    // Steps answer with the node's values before or after their events.
    if (asking) unclaimed.push(event);
    else if (event.type === "node" && event.id === lastStep(get())) queue(set, get, event);
    return;
  }
  queue(set, get, event);
}

function lastStep(state: Store): string | null {
  return state.run.state === "stepping" ? state.run.id : null;
}

function queue(set: SetState, get: GetState, event: StudioEvent): void {
  waiting.push(event);
  if (frame) return;
  frame = true;
  const later = document.hidden ? (done: () => void) => setTimeout(done, 50) : requestAnimationFrame;
  later(() => {
    frame = false;
    const events = waiting;
    waiting = [];
    apply(set, get, events);
  });
}

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

function apply(set: SetState, get: GetState, events: readonly StudioEvent[]): void {
  if (!events.length) return;
  const { results, run, history, check, document, checkedDocument } = get();
  const shown = (some: Record<string, Result>) => Object.values(some).some((one) => one.outputs.length > 0);
  const first = !shown(results) && !history.past.length;
  set(told(results, run, events, document === checkedDocument ? check?.nodes : undefined));
  // A page that was only opened shows all of itself, results included.
  if (first && run.targets === null && shown(get().results)) get().bringIntoView([], true);
  for (const event of events) {
    if (event.type === "error") {
      get().say(
        `Error${event.node ? ` at ${event.node}${event.port ? `, port ${event.port}` : ""}` : ""}: ${event.text}`,
      );
      if (!event.node) get().toast("danger", event.text);
    } else if (event.type === "finished") {
      if (event.state === "done") get().say(`Run finished: ${event.ran} ran, ${event.cached} from the cache`);
      else if (event.state === "stopped") get().say("Run stopped");
      for (const miss of event.mismatches) get().toast("danger", miss.text);
      if (event.state !== "done") following = [];
      const next = following.shift();
      if (next !== undefined) void get().runNamed(next);
    } else if (event.type === "files") void get().loadFiles();
    else if (event.type === "restarted") {
      get().toast("danger", "The process that computes had stopped and has been started again.");
    }
  }
}

/** The socket is back: what a run said meanwhile is lost. */
export function reconnected(set: SetState, get: GetState): void {
  const { run } = get();
  if (run.state === "running" || run.state === "queued") {
    set({ run: { ...IDLE, outcome: "stopped", error: "The connection was lost during the run: run it again." } });
  }
}
