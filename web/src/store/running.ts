// Runs: asked for over HTTP, told by events. Events wait for the next frame, so that a large page is drawn once and not per node.
// What waits belongs to one store but is not part of its state: nothing is drawn from it, and nobody hears that it changes.
import { api, Refused, reason } from "../api/client";
import type { StudioEvent } from "../api/types";
import { IDLE } from "./initial";
import type { GetState, SetState } from "./parts";
import { told } from "./results";
import type { Actions, Result, RunState, Store } from "./types";

export function running(set: SetState, get: GetState) {
  let waiting: StudioEvent[] = []; // for the next frame
  let unclaimed: StudioEvent[] = []; // of a run whose id has not come yet
  let asking = 0;
  let following: string[] = []; // the page's runs that come after the one under way

  /** Asks for a run where there may be one; otherwise why not is said, or the user is asked. */
  const begin = async (work: () => Promise<void>): Promise<void> => {
    const { run, document, file } = get();
    if (isBusy(run)) return;
    if (!Object.keys(document.nodes).length) return get().toast("info", "There is nothing to run yet: add a block.");
    const again = () => void begin(work);
    if (!file.trusted) return get().openDialog({ kind: "trust", onYes: again });
    asking += 1;
    try {
      await work();
    } catch (problem) {
      failed(problem, again);
    } finally {
      asking -= 1;
      if (!asking) unclaimed = [];
    }
  };

  const failed = (problem: unknown, again: () => void) => {
    set({ run: { ...get().run, id: null, state: "idle", next: null } });
    if (problem instanceof Refused && problem.kind === "untrusted") {
      get().openDialog({ kind: "trust", onYes: again });
    } else if (problem instanceof Refused && problem.node) {
      const { node, port, message, kind } = problem;
      apply([{ type: "error", id: "", node, port, text: message, kind }]);
    } else {
      set({ run: { ...get().run, outcome: "failed", error: reason(problem) } });
      get().toast("danger", reason(problem));
    }
  };

  /** A run's id has come: the events that came before it are its own. */
  const claim = (id: string) => {
    if (isBusy(get().run)) set({ run: { ...get().run, id } });
    apply(unclaimed.filter((event) => "id" in event && event.id === id));
  };

  const ask = (targets: string[] | null, steps: number, run: string | null) =>
    begin(async () => {
      const { document, file, client, opened: open } = get();
      void get().showRound(null);
      set({ run: { ...IDLE, state: "queued", targets, steps }, lens: null });
      claim((await api.run({ page: document, path: file.path, run, targets, steps, client, open })).id);
    });

  const step = async () => {
    const { run, document, file, selection, client, opened: open } = get();
    const on = run.state === "stepping" ? run.id : null;
    const targets = on ? run.targets : selection.nodes.length ? selection.nodes : null;
    const { id, next, done } = await api.step({ page: document, path: file.path, targets, id: on, client, open });
    const last = done.at(-1);
    set({
      run: {
        ...(on ? get().run : IDLE),
        id: next === null ? null : id,
        state: next === null ? "idle" : "stepping",
        targets,
        next,
        done: done.length,
        outcome: next === null ? "done" : null,
      },
    });
    claim(id);
    if (!last) return;
    get().select({ nodes: [last] });
    get().say(next ? `${last} has run; next is ${next}` : `${last} has run; that was the last`);
  };

  const apply = (events: readonly StudioEvent[]) => {
    if (!events.length) return;
    const { results, run, history, check, document, checkedDocument } = get();
    const shown = (some: Record<string, Result>) => Object.values(some).some((one) => one.outputs.length > 0);
    const first = !shown(results) && !history.past.length;
    set(told(results, run, events, document === checkedDocument ? check?.nodes : undefined));
    // A page that was only opened shows all of itself, results included.
    if (first && run.targets === null && shown(get().results)) get().bringIntoView([], true, true);
    for (const event of events) {
      if (event.type === "error") {
        const { node, port, text } = event;
        get().say(`Error${node ? ` at ${node}${port ? `, port ${port}` : ""}` : ""}: ${text}`);
        if (!node) get().toast("danger", text);
      } else if (event.type === "finished") {
        if (event.state === "done") get().say(`Run finished: ${event.ran} ran, ${event.cached} from the cache`);
        else if (event.state === "stopped") get().say("Run stopped");
        for (const { name, got, expected, text } of event.mismatches) {
          get().toast("danger", `${name} is ${got}, not ${expected} as expected: ${text}`);
        }
        const wrong = (name: string) =>
          event.mismatches.find((one) => one.name.split("[")[0]?.startsWith(name)) ?? null;
        set({ judged: { ...get().judged, ...Object.fromEntries(event.judged.map((name) => [name, wrong(name)])) } });
        if (event.rounds > 1) void get().loadTimeline();
        if (event.state !== "done") following = [];
        const next = following.shift();
        if (next !== undefined) void get().runNamed(next);
      } else if (event.type === "files") void get().loadFiles();
      else if (event.type === "restarted") {
        get().toast("danger", "The process that computes had stopped and has been started again.");
      }
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
      return ask(null, steps, loopedRun(get()));
    },
    runNamed: (name) => ask(null, stepsOf(get(), name), name),
    runStep: () => begin(step),
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

    received(event) {
      if ("id" in event && event.id !== get().run.id) {
        // Answers and events come in any order.
        if (asking) unclaimed.push(event);
        return;
      }
      waiting.push(event);
      if (waiting.length > 1) return; // the frame is asked for
      const later = document.hidden ? (done: () => void) => setTimeout(done, 50) : requestAnimationFrame;
      later(() => {
        const events = waiting;
        waiting = [];
        apply(events);
      });
    },
    reconnected() {
      if (!isBusy(get().run)) return;
      set({ run: { ...IDLE, outcome: "stopped", error: "The connection was lost during the run: run it again." } });
    },

    setLive(live) {
      const loops = Object.values(get().document.runs ?? {}).some((run) => run.mode === "loop");
      if (live && loops) get().toast("info", "This page has a loop, which is not run with every edit: press Run.");
      set({ live });
      get().say(live ? "Live: every edit runs the page" : "Edits wait for Run");
    },
    setRunName: (name) => set({ runName: name }),
    setLoopSteps: (steps) => set({ loopSteps: Math.max(1, Math.min(1_000_000, Math.round(steps) || 1)) }),
  } satisfies Partial<Actions>;
}

function isBusy({ state }: RunState): boolean {
  return state === "running" || state === "queued";
}

/** The runs that Run means: the chosen one, or all in the page's order. */
function runNames({ document, runName }: Store): string[] {
  const names = Object.keys(document.runs ?? {});
  return names.includes(runName) ? [runName] : names;
}

/** The run that Loop means: the first that is written as a loop, else the first. */
export function loopedRun(state: Store): string | null {
  const names = runNames(state);
  return names.find((name) => stepsOf(state, name) > 1) ?? names[0] ?? null;
}

function stepsOf({ document }: Store, name: string | undefined): number {
  const run = name === undefined ? undefined : document.runs?.[name];
  return run?.mode === "loop" ? (run.steps ?? 1) : 1;
}
