// Files: the session, opening, saving, recovery, and ways out to other formats.
import { api, Refused, reason } from "../api/client";
import { listen } from "../api/events";
import { recorded } from "../api/recorded";
import type { Document, OpenedFile, RefusedReply } from "../api/types";
import { pasted } from "../page/clipboard";
import { heldLiteral } from "../page/data";
import { EMPTY, moveNodes } from "../page/edits";
import { NO_HISTORY } from "../page/history";
import { has } from "../page/links";
import { download, pngOf } from "../page/picture";
import { sound } from "../page/sound";
import { IDLE, NOTHING, untitled } from "./initial";
import type { GetState, SetState } from "./parts";
import type { Actions, FileState } from "./types";

export const EXTENSION = ".page.json";

export function isExample(path: string | null): boolean {
  return path?.startsWith("example:") ?? false;
}

/** A path without the extension, or with another ending in its place. */
export function bareName(path: string, ending = ""): string {
  return path.endsWith(EXTENSION) ? path.slice(0, -EXTENSION.length) + ending : path;
}

/** A file name as typed, with the extension. */
export function fileName(typed: string): string {
  const name = typed.trim();
  return name.endsWith(EXTENSION) ? name : `${name.replace(/\.json$/, "")}${EXTENSION}`;
}

export function files(set: SetState, get: GetState) {
  let started = false;
  const show = (document: Document, file: FileState) => {
    const left = get();
    // Whoever leaves a page with changes has been asked: they are not offered again.
    if (left.document !== left.file.savedDocument && left.file.journal !== file.journal) {
      void api.leave(left.file.journal, left.client).then(get().loadFiles, () => undefined);
    }
    set({
      capture: null,
      document,
      file,
      loopSteps: Object.values(document.runs ?? {}).find((run) => run.steps)?.steps ?? 10,
      runName: "",
      history: NO_HISTORY,
      selection: NOTHING,
      results: {},
      judged: {},
      timeline: null,
      run: IDLE,
      lens: null,
      wiring: null,
      check: null,
      checkedDocument: null,
      problemsOf: new Map(),
    });
    address(file.path);
    get().bringIntoView([], true);
  };

  /** What can be shown of a page; the user hears of what cannot. */
  const shown = (document: Document) => {
    const { page, left } = sound(document);
    if (left.length) {
      const more = left.length > 3 ? ` and ${left.length - 3} more` : "";
      get().toast(
        "danger",
        `Parts of this page cannot be shown and were left out: ${left.slice(0, 3).join(", ")}${more}. It is open as a copy; the file stays as it is.`,
      );
    }
    return { page, whole: left.length === 0 };
  };

  const opened = (found: OpenedFile) => {
    if (found.path.startsWith("untitled-")) {
      // It never had a file: what the journal holds is all there is.
      const seen = found.recovered?.client ?? "";
      const file = { ...untitled(), journal: found.path, seen, trusted: found.trusted, savedDocument: null };
      return show(shown(found.recovered?.page ?? found.page).page, { ...file, save: "journaled" });
    }
    const { page, whole } = shown(found.page);
    if (!whole) return show(page, { ...untitled(), trusted: found.trusted, savedDocument: page });
    show(page, {
      path: found.path,
      version: found.version,
      trusted: found.trusted || isExample(found.path),
      journal: isExample(found.path) ? untitled().journal : found.path,
      seen: "",
      save: "clean",
      savedDocument: page,
    });
    void placed(page);
    const { recovered } = found;
    if (recovered)
      get().openDialog({
        kind: "recovered",
        page: sound(recovered.page).page,
        savedAt: recovered.saved_at,
        client: recovered.client,
      });
    else if (isExample(found.path) && !recorded) void get().runAll();
  };

  /** A page that was written by hand or by a program says not where its blocks stand: that is no edit of it. */
  const placed = async (page: Document) => {
    const without = Object.keys(page.nodes).filter((node) => !has(page.layout, node));
    if (!without.length) return;
    try {
      const all = without.length === Object.keys(page.nodes).length;
      const { layout } = await api.layout(page, all ? null : without);
      const { document, file } = get();
      if (document !== page) return;
      const own = all ? layout : Object.fromEntries(Object.entries(layout).filter(([node]) => without.includes(node)));
      const laid = moveNodes(own)(document);
      set({
        document: laid,
        file: { ...file, savedDocument: file.savedDocument === page ? laid : file.savedDocument },
      });
      get().bringIntoView([], true);
    } catch (problem) {
      get().say(reason(problem));
    }
  };

  /** Asks first when work would be lost. */
  const leaving = (then: () => void) => {
    const { document, file } = get();
    const empty = !Object.keys(document.nodes).length && !Object.keys(document.notes ?? {}).length;
    if (document === file.savedDocument || empty) then();
    else get().openDialog({ kind: "leave", onYes: then });
  };

  const write = async (path: string, version: string | null, force: boolean) => {
    const { document, file } = get();
    set({ file: { ...file, save: "saving" } });
    try {
      const saved = await api.save(path, document, version, force, { client: get().client, seen: file.seen });
      set((state) => {
        const same = state.document === document;
        return {
          // Large literals have moved into data files.
          document: same ? saved.page : state.document,
          file: {
            path,
            version: saved.version,
            trusted: state.file.trusted,
            journal: path,
            seen: "",
            save: same ? "clean" : "changed",
            savedDocument: same ? saved.page : document,
          },
        };
      });
      if (file.journal !== path) void api.leave(file.journal, get().client).catch(() => undefined);
      address(path);
      get().say(`Saved ${path}`);
      void get().loadFiles();
      return true;
    } catch (problem) {
      set((state) => ({ file: { ...state.file, save: "failed" } }));
      const current = problem instanceof Refused && problem.status === 409 ? currentOf(problem.body) : null;
      if (current) get().openDialog({ kind: "conflict", theirs: sound(current.page).page, version: current.version });
      else get().toast("danger", `Not saved: ${reason(problem)}`);
      return false;
    }
  };

  /** Whether the server that is there still knows this tab: one that was started anew does not. */
  const stillKnown = async () => {
    try {
      set({ session: await api.session() });
    } catch (problem) {
      if (problem instanceof Refused && (problem.status === 401 || problem.status === 403))
        set({ connection: "ended" });
    }
  };

  return {
    async start() {
      if (started) return; // a token can be handed over once
      started = true;
      try {
        const token = /[#&]token=([^&]+)/.exec(location.hash)?.[1];
        const wanted = /[#&]page=([^&]*)/.exec(location.hash)?.[1];
        const record = /[#&]capture=([^&]+)/.exec(location.hash)?.[1];
        if (token) {
          await api.enter(decodeURIComponent(token));
          history.replaceState(null, "", `${location.pathname}${wanted ? `#page=${wanted}` : ""}`);
        }
        const session = await api.session();
        const catalogue = await api.catalogue();
        set({ session, catalogue, ops: new Map(catalogue.ops.map((op) => [op.name, op])) });
        let before = true;
        listen(() => get().session?.key ?? "", get().client, {
          event: (event) => get().received(event),
          state: (open) => {
            set({ connection: open ? "open" : "lost" });
            if (!open) void stillKnown();
            if (open && !before) {
              get().reconnected();
              void get().loadFiles();
            }
            before = open;
          },
        });
        await get().loadFiles();
        if (recorded) {
          opened(await api.file("recorded"));
          set({ run: { ...IDLE, id: "recorded", state: "running" } });
          for (const event of recorded.events) get().received(event);
          return set({ panel: { ...get().panel, leftOpen: false } });
        }
        if (record) return get().openCapture(decodeURIComponent(record));
        // Who comes for the first time finds something that runs; "page=" alone asks for an empty page.
        const { pages = [], examples = [], recovered = [] } = get().files ?? {};
        const first = wanted === undefined && !pages.length && !recovered.length ? examples[0]?.path : undefined;
        if (wanted || first) await get().openPath(wanted ? decodeURIComponent(wanted) : (first as string));
      } catch (problem) {
        const refused = problem instanceof Refused && (problem.status === 401 || problem.status === 403);
        set({
          fatal: refused
            ? "This tab has no key to the studio. Open the address that “gradbag studio” printed when it started."
            : reason(problem),
        });
      }
    },

    async loadFiles() {
      try {
        set({ files: await api.files() });
      } catch (problem) {
        get().say(reason(problem));
      }
    },

    openCapture(path) {
      set({ capture: path });
      history.replaceState(null, "", `${location.pathname}${path ? `#capture=${encodeURIComponent(path)}` : ""}`);
      if (!path) address(get().file.path);
    },

    newPage: () => leaving(() => show(EMPTY, untitled())),

    async openPath(path) {
      leaving(async () => {
        try {
          opened(await api.file(path));
        } catch (problem) {
          get().toast("danger", `Could not open ${path}: ${reason(problem)}`);
        }
      });
    },

    async openDropped(file) {
      leaving(async () => {
        try {
          const found = await api.open(file.name, file);
          show(shown(found.page).page, { ...untitled(), trusted: false, savedDocument: null });
          set({ file: { ...get().file, save: "changed" } });
          for (const note of found.notes) get().toast("info", note);
          get().say(`Opened ${found.title || file.name}`);
          const { layout, nodes } = get().document;
          if (!layout && Object.keys(nodes).length) void get().tidy();
        } catch (problem) {
          get().toast("danger", `Could not open ${file.name}: ${reason(problem)}`);
        }
      });
    },

    async insertData(file, at, port) {
      try {
        const { page } = await api.open(file.name, file);
        const names = Object.keys(page.nodes);
        const literal = port && names.length === 1 ? heldLiteral(page, names[0] as string) : null;
        if (port && literal !== null) {
          const dot = port.lastIndexOf(".");
          get().setLiteral(port.slice(0, dot), port.slice(dot + 1), literal);
        } else {
          const made = pasted(get().document, page, at, "");
          get().edit(`insert ${file.name}`, () => made.document);
          get().select(made.names);
          get().bringIntoView(made.names.nodes);
        }
        get().say(`Inserted ${names.join(", ")} from ${file.name}`);
      } catch (problem) {
        get().toast("danger", `Could not read ${file.name}: ${reason(problem)}`);
      }
    },

    async save() {
      const { file, session } = get();
      if (session?.readonly)
        return get().toast("info", "This folder is open for reading only: export the page instead.");
      if (!file.path || isExample(file.path)) return get().openDialog({ kind: "save-as" });
      await write(file.path, file.version, false);
    },
    async saveAs(path) {
      const name = fileName(path);
      const taken = get().files?.pages.some((page) => page.path === name);
      if (taken && name !== get().file.path) return get().toast("danger", `There is a page ${name} already.`);
      if (await write(name, name === get().file.path ? get().file.version : null, false)) get().closeDialog();
    },

    async resolveConflict(choice, copyPath) {
      const { dialog, file } = get();
      if (dialog?.kind !== "conflict" || !file.path) return;
      get().closeDialog();
      if (choice === "mine") await write(file.path, dialog.version, true);
      else if (choice === "copy") await write(fileName(copyPath ?? file.path), null, false);
      else {
        const before = get().document;
        // Taking theirs can be undone: the own page is one step back.
        get().edit("take the saved page", () => (before === dialog.theirs ? { ...dialog.theirs } : dialog.theirs));
        set({
          file: { ...get().file, version: dialog.version, save: "clean", savedDocument: get().document },
        });
        void api.leave(file.journal, get().client).catch(() => undefined);
      }
    },

    async resolveRecovery(choice) {
      const { dialog, file } = get();
      if (dialog?.kind !== "recovered") return;
      get().closeDialog();
      if (choice === "recover") {
        set({ file: { ...file, seen: dialog.client } });
        get().edit("recover", () => dialog.page);
      } else await api.discard(file.journal).catch((problem) => get().toast("danger", reason(problem)));
      void get().loadFiles();
    },

    async renameFile(path, to) {
      try {
        const name = fileName(to);
        await api.rename(path, name);
        if (get().file.path === path) {
          set({ file: { ...get().file, path: name, journal: name } });
          address(name);
        }
        get().closeDialog();
        await get().loadFiles();
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },
    async deleteFile(path) {
      try {
        await api.remove(path);
        get().closeDialog();
        // The open page stays on the screen, as one that was never saved.
        if (get().file.path === path) set({ file: { ...untitled(), save: "changed", savedDocument: null } });
        get().toast("info", `${path} is in the folder's trash, .gradbag/trash.`);
        await get().loadFiles();
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },

    async discardJournal(name) {
      try {
        await api.discard(name);
        await get().loadFiles();
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },

    async trust() {
      try {
        await api.trust(get().file.path);
        set({ file: { ...get().file, trusted: true } });
      } catch (problem) {
        get().toast("danger", reason(problem));
      }
    },

    async exportAs(kind) {
      const { document, file } = get();
      const about = { page: document, path: file.path };
      try {
        if (kind === "png") {
          const [{ bytes, name }, { text }] = await Promise.all([api.exported(about, "svg"), api.text(document)]);
          download(await pngOf(bytes, text), name.replace(/\.svg$/, ".png"));
        } else {
          const { bytes, name } = await api.exported(about, kind);
          download(bytes, name);
        }
        get().say("Exported");
      } catch (problem) {
        get().toast("danger", `Not exported: ${reason(problem)}`);
      }
    },
  } satisfies Partial<Actions>;
}

/** The tab's address names the page, so that loading it again opens the same. */
function address(path: string | null): void {
  if (recorded) return; // a file has no address of its own to change
  history.replaceState(null, "", `${location.pathname}${path ? `#page=${encodeURIComponent(path)}` : ""}`);
}

function currentOf(body: unknown): { page: Document; version: string } | null {
  const current = (body as Partial<RefusedReply> | null)?.current;
  return current?.page && typeof current.version === "string" ? { page: current.page, version: current.version } : null;
}
