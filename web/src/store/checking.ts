// After every edit: the server's check, and within a second the journal.
import type { StoreApi } from "zustand";
import { api, reason } from "../api/client";
import type { Problem } from "../api/types";
import type { Store } from "./types";

const CHECK_AFTER = 60;
const JOURNAL_AFTER = 500;

export function checking(store: StoreApi<Store>): void {
  let checkTimer: ReturnType<typeof setTimeout> | null = null;
  let journalTimer: ReturnType<typeof setTimeout> | null = null;
  let asked: AbortController | null = null;
  let told = ""; // the page of which it was said that another tab has it, too
  let sequence = Date.now(); // a page opened again goes on after its former edits

  const check = async () => {
    checkTimer = null;
    asked?.abort();
    asked = new AbortController();
    const { document, file, opened } = store.getState();
    try {
      const found = await api.check({ page: document, path: file.path, open: opened }, asked.signal);
      if (store.getState().document !== document) return; // a newer check is on its way
      store.setState((state) => {
        const check = { ...found, nodes: kept(state.check?.nodes, found.nodes) };
        return { check, checkedDocument: document, problemsOf: kept(state.problemsOf, byNode(found.problems)) };
      });
    } catch (problem) {
      if (problem instanceof DOMException) return; // aborted by a newer one
      store.getState().say(reason(problem));
    }
  };

  const journal = async () => {
    journalTimer = null;
    const { document, file, session, client } = store.getState();
    if (session?.readonly || document === file.savedDocument) return;
    if (file.save === "saving") {
      journalTimer = setTimeout(journal, JOURNAL_AFTER);
      return;
    }
    sequence += 1;
    try {
      const { beside } = await api.journal(file.journal, document, sequence, { client, seen: file.seen });
      if (beside && told !== file.journal) {
        told = file.journal;
        const text = "This page is edited in another tab as well. Both are kept; what is saved first stays.";
        store.getState().toast("info", text);
      }
      store.setState((state) =>
        state.document === document && state.file.save !== "saving"
          ? { file: { ...state.file, save: "journaled" } }
          : {},
      );
    } catch (problem) {
      store.setState((state) => ({ file: { ...state.file, save: "failed" } }));
      store.getState().say(`Not kept safe: ${reason(problem)}`);
    }
  };

  store.subscribe((state, before) => {
    const back = state.connection === "open" && before.connection === "lost";
    const other = state.document !== before.document || state.opened !== before.opened;
    if (other || state.session !== before.session || back) {
      if (!state.session) return;
      if (checkTimer) clearTimeout(checkTimer);
      checkTimer = setTimeout(check, CHECK_AFTER);
    }
    if ((state.document !== before.document || back) && isEdit(state, before)) {
      // Not put off by further edits: while someone types on and on, it is kept too.
      if (journalTimer === null) journalTimer = setTimeout(journal, JOURNAL_AFTER);
    }
  });
}

function isEdit(state: Store, before: Store): boolean {
  return state.file.journal === before.file.journal && state.document !== state.file.savedDocument;
}

/** The new answers, with the same objects where nothing has changed: blocks compare by identity. */
function kept<T extends object>(before: T | undefined, now: T): T {
  if (!before) return now;
  const pairs = (of: object): [string, unknown][] => (of instanceof Map ? [...of] : Object.entries(of));
  const old = new Map(pairs(before));
  const merged = pairs(now).map(([name, value]): [string, unknown] => {
    const former = old.get(name);
    return [name, former !== undefined && JSON.stringify(former) === JSON.stringify(value) ? former : value];
  });
  return (now instanceof Map ? new Map(merged) : Object.fromEntries(merged)) as T;
}

function byNode(problems: Problem[]): Map<string, Problem[]> {
  const found = new Map<string, Problem[]>();
  for (const problem of problems) found.set(problem.node, [...(found.get(problem.node) ?? []), problem]);
  return found;
}
