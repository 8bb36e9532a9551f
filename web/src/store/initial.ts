// The store before anything is loaded.
import { EMPTY } from "../page/edits";
import { NO_HISTORY } from "../page/history";
import type { FileState, Panel, RunState, Selection, State, Theme } from "./types";

export const NOTHING: Selection = { nodes: [], wires: [], groups: [], notes: [] };

export const IDLE: RunState = {
  id: null,
  state: "idle",
  targets: null,
  done: 0,
  total: 0,
  step: 0,
  steps: 1,
  next: null,
  outcome: null,
  seconds: 0,
  ran: 0,
  cached: 0,
  mismatches: [],
  error: "",
};

export function untitled(): FileState {
  const journal = `untitled-${crypto.randomUUID()}`;
  return { path: null, version: null, trusted: true, journal, seen: "", save: "clean", savedDocument: EMPTY };
}

const PANEL: Panel = {
  left: "blocks",
  leftOpen: true,
  right: "inspector",
  rightOpen: true,
  helpOp: null,
  problems: false,
};

export function initialState(): State {
  return {
    client: crypto.randomUUID(),
    session: null,
    catalogue: null,
    ops: new Map(),
    files: null,
    capture: null,
    fatal: "",
    document: EMPTY,
    history: NO_HISTORY,
    file: untitled(),
    selection: NOTHING,
    check: null,
    checkedDocument: null,
    opened: [],
    problemsOf: new Map(),
    results: {},
    judged: {},
    timeline: null,
    run: IDLE,
    loopSteps: 10,
    live: false,
    runName: "",
    connection: "connecting",
    lens: null,
    panel: window.innerWidth > 800 ? PANEL : { ...PANEL, leftOpen: false, rightOpen: false },
    theme: chosenTheme(),
    wiring: null,
    quick: null,
    dialog: null,
    toasts: [],
    spoken: "",
    focusRequest: null,
  };
}

function chosenTheme(): Theme {
  try {
    const said = localStorage.getItem("gradbag-theme");
    return said === "light" || said === "dark" ? said : "system";
  } catch {
    return "system"; // storage may be blocked
  }
}
