// Undo and redo over immutable documents: a step holds the document before it, so nothing is ever computed backwards.
import type { Document } from "../api/types";

export const MOST_STEPS = 500;

export type Step = { label: string; before: Document; mergeKey: string };
export type History = { past: readonly Step[]; future: readonly Step[] };

export const NO_HISTORY: History = { past: [], future: [] };

/** The history after an edit; one with the last step's merge key joins it, as typing does. */
export function recorded(history: History, before: Document, label: string, mergeKey = ""): History {
  const last = history.past.at(-1);
  if (mergeKey && last?.mergeKey === mergeKey && history.future.length === 0) return history;
  const past = [...history.past, { label, before, mergeKey }];
  return { past: past.slice(-MOST_STEPS), future: [] };
}

/** No later edit joins the last step: typing elsewhere and coming back is another step. */
export function sealed(history: History): History {
  const last = history.past.at(-1);
  if (!last?.mergeKey) return history;
  return { ...history, past: [...history.past.slice(0, -1), { ...last, mergeKey: "" }] };
}

export type Turned = { document: Document; history: History; label: string };

export function undone(history: History, document: Document): Turned | null {
  const step = history.past.at(-1);
  if (!step) return null;
  return {
    document: step.before,
    label: step.label,
    history: {
      past: history.past.slice(0, -1),
      future: [...history.future, { label: step.label, before: document, mergeKey: "" }],
    },
  };
}

export function redone(history: History, document: Document): Turned | null {
  const step = history.future.at(-1);
  if (!step) return null;
  return {
    document: step.before,
    label: step.label,
    history: {
      past: [...history.past, { label: step.label, before: document, mergeKey: "" }],
      future: history.future.slice(0, -1),
    },
  };
}
