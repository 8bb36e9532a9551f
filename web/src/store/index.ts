// The store. Parts are in their own files; what follows every edit (check, journal) is wired up here.
import { create } from "zustand";
import { checking } from "./checking";
import { differentiating } from "./differentiating";
import { editing } from "./editing";
import { files } from "./files";
import { initialState } from "./initial";
import { living } from "./live";
import { looking } from "./looking";
import { running } from "./running";
import { showing } from "./showing";
import { timing } from "./timing";
import type { NodeState, Store } from "./types";
import { wiring } from "./wiring";

export function createStudio() {
  const store = create<Store>()((set, get) => ({
    ...initialState(),
    ...editing(set, get),
    ...differentiating(set, get),
    ...wiring(set, get),
    ...running(set, get),
    ...timing(set, get),
    ...looking(set, get),
    ...files(set, get),
    ...showing(set, get),
  }));
  checking(store);
  living(store);
  return store;
}

export const useStudio = createStudio(); // the page's

/** The state of a block: what its last result says, unless the page has changed under it. */
export function nodeState(state: Store, node: string): NodeState {
  const result = state.results[node];
  if (!result) return "idle";
  if (result.state === "queued" || result.state === "running") return result.state;
  return isStale(state, node) ? "stale" : result.state;
}

export function isStale(state: Store, node: string): boolean {
  const result = state.results[node];
  const checked = state.check?.nodes[node];
  if (result?.error) return checked !== undefined && result.error.of !== undefined && result.error.of !== checked.key;
  // A value that had a key is not that of a node which has none now: it is broken.
  if (!result || !checked) return false;
  if (result.outdated) return true;
  if (result.key === null) return false;
  return result.key !== checked.key;
}

export type * from "./types";
