// The bar on top: which page this is, whether it is safe, running, editing, and the ways out.
import { placeOnPage } from "../canvas/view";
import { setTitle } from "../page/edits";
import { useStudio } from "../store";
import { bareName, isExample } from "../store/files";
import { loopedRun } from "../store/running";
import type { Theme } from "../store/types";
import { useDraft } from "../values/useDraft";
import { Icon, type IconName } from "./Icon";
import { shortcut } from "./keys";
import { Menu } from "./Menu";

type ButtonProps = {
  icon: IconName;
  label: string;
  command?: string;
  text?: string;
  disabled?: boolean;
  primary?: boolean;
  onClick(): void;
};

/** A button whose tooltip tells the key of its command. */
function Command({ icon, label, command, text, disabled, primary, onClick }: ButtonProps) {
  return (
    <button
      type="button"
      className={primary ? "primary" : "ghost"}
      title={`${label}${shortcut(command ?? label)}`}
      aria-label={label}
      disabled={disabled ?? false}
      onClick={onClick}
    >
      <Icon name={icon} />
      {text && <span>{text}</span>}
    </button>
  );
}

export function Toolbar() {
  return (
    <header className="toolbar">
      <Heading />
      <FileMenu />
      <Title />
      <div className="tools" role="toolbar" aria-label="Edit">
        <Edits />
      </div>
      <div className="tools run" role="toolbar" aria-label="Run">
        <Runs />
      </div>
      <div className="tools end">
        <ExportMenu />
        <ThemeButton />
        <Command
          icon="keys"
          label="Keys"
          command="Show all keys"
          onClick={() => useStudio.getState().openDialog({ kind: "keys" })}
        />
      </div>
    </header>
  );
}

/** The page's title for readers who cannot see the bar. */
function Heading() {
  const title = useStudio((s) => s.document.title || (s.file.path ? bareName(s.file.path) : "Untitled page"));
  return <h1 className="spoken">{title}</h1>;
}

/** A file from anywhere on the computer. */
export function pickFile(): void {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = ".json,.pb,.pbtxt,.svg,.png";
  input.onchange = () => {
    const file = input.files?.[0];
    if (file) void useStudio.getState().openDropped(file);
  };
  input.click();
}

function FileMenu() {
  const studio = useStudio.getState;
  const readonly = useStudio((s) => s.session?.readonly ?? false);
  return (
    <Menu
      label="File"
      title="Pages and files"
      commands={[
        { label: "New page", keys: shortcut("New page"), run: () => studio().newPage() },
        {
          label: "Open a page of this folder",
          keys: shortcut("Open a page"),
          run: () => studio().setPanel({ left: "files", leftOpen: true }),
        },
        { label: "Import a file…", note: "a page, GraphDef, or a picture with a page inside", run: pickFile },
        "line",
        { label: "Save", keys: shortcut("Save"), disabled: readonly, run: () => void studio().save() },
        {
          label: "Save as…",
          keys: shortcut("Save as"),
          disabled: readonly,
          run: () => studio().openDialog({ kind: "save-as" }),
        },
      ]}
    >
      <span className="brand" aria-hidden="true">
        <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true" focusable="false">
          <path className="brand-line" d="M8 10c8 0 8 12 16 12" />
          <circle className="brand-a" cx="8" cy="10" r="4" />
          <circle className="brand-b" cx="24" cy="22" r="4" />
        </svg>
      </span>
      File
      <Icon name="down" />
    </Menu>
  );
}

function Title() {
  const title = useStudio((s) => s.document.title ?? "");
  const path = useStudio((s) => s.file.path);
  const edit = useStudio((s) => s.edit);
  const { field, drop } = useDraft(title, (text) => edit("title the page", setTitle(text.trim())));
  const where = path ? (isExample(path) ? `example · ${path.slice("example:".length)}` : path) : "not saved yet";
  return (
    <div className="title">
      <input
        aria-label="Title of the page"
        placeholder={path ? bareName(path.replace(/^example:/, "")) : "Untitled page"}
        {...field}
        onKeyDown={(event) => {
          if (event.key === "Enter") event.currentTarget.blur();
          if (event.key === "Escape") drop();
        }}
      />
      <div className="where" title={where}>
        <span className="path">{where}</span>
        <SaveMark />
      </div>
    </div>
  );
}

function SaveMark() {
  const save = useStudio((s) => s.file.save);
  const changed = useStudio((s) => s.document !== s.file.savedDocument);
  if (save === "failed") return <span className="save-mark bad">not saved</span>;
  if (save === "saving") return <span className="save-mark">saving…</span>;
  if (!changed) return null;
  const text = save === "journaled" ? "edited, kept safe" : "edited";
  return (
    <span
      className="save-mark"
      title={save === "journaled" ? "Written to the journal: a crash loses nothing. Ctrl+S saves the file." : ""}
    >
      {text}
    </span>
  );
}

function Edits() {
  const past = useStudio((s) => s.history.past.at(-1)?.label);
  const future = useStudio((s) => s.history.future.at(-1)?.label);
  const some = useStudio((s) => s.selection.nodes.length);
  const empty = useStudio((s) => Object.keys(s.document.nodes).length === 0);
  const studio = useStudio.getState;
  return (
    <>
      <Command
        icon="undo"
        label={past ? `Undo ${past}` : "Undo"}
        command="Undo"
        disabled={past === undefined}
        onClick={() => studio().undo()}
      />
      <Command
        icon="redo"
        label={future ? `Redo ${future}` : "Redo"}
        command="Redo"
        disabled={future === undefined}
        onClick={() => studio().redo()}
      />
      <span className="bar" />
      <Command
        icon="tidy"
        label={some > 1 ? "Tidy the selection" : "Tidy the page"}
        command="Tidy the page, or the selection"
        text="Tidy"
        disabled={empty}
        onClick={() => void studio().tidy()}
      />
      <Command icon="note" label="Add a note" text="Note" onClick={() => studio().addNote(placeOnPage())} />
      <Command
        icon="group"
        label="Group the selected blocks"
        text="Group"
        disabled={!some}
        onClick={() => studio().groupSelection()}
      />
      <Command
        icon="gradient"
        label="Differentiate"
        text="Differentiate"
        disabled={empty}
        onClick={() => studio().openDialog({ kind: "differentiate" })}
      />
    </>
  );
}

function Runs() {
  const state = useStudio((s) => s.run.state);
  const some = useStudio((s) => s.selection.nodes.length > 0);
  const steps = useStudio((s) => s.loopSteps);
  const empty = useStudio((s) => Object.keys(s.document.nodes).length === 0);
  const runs = useStudio((s) => s.document.runs);
  const runName = useStudio((s) => s.runName);
  const looped = useStudio(loopedRun);
  const live = useStudio((s) => s.live);
  const studio = useStudio.getState;
  const names = Object.keys(runs ?? {});
  const busy = state === "running" || state === "queued";
  return (
    <>
      {names.length > 1 && (
        <select
          className="run-name"
          aria-label="Which run"
          title="Which of the page’s runs"
          value={names.includes(runName) ? runName : ""}
          onChange={(event) => studio().setRunName(event.target.value)}
        >
          <option value="">all runs</option>
          {names.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      {busy ? (
        <Command icon="stop" label="Stop" text="Stop" primary onClick={() => void studio().stop()} />
      ) : (
        <Command
          icon="run"
          label="Run"
          command="Run the page"
          text="Run"
          primary
          disabled={empty}
          onClick={() => void studio().runAll()}
        />
      )}
      <button
        type="button"
        className={live ? "primary live" : "ghost live"}
        aria-pressed={live}
        title="Live: every edit runs the page, and numbers of constants can be dragged (Alt: finer)"
        onClick={() => studio().setLive(!live)}
      >
        Live
      </button>
      <Command
        icon="runTo"
        label="Run up to here"
        command="Run up to the selected blocks"
        text="To here"
        disabled={busy || !some}
        onClick={() => void studio().runTo(studio().selection.nodes)}
      />
      <Command
        icon="step"
        label={state === "stepping" ? "Step on" : "Step"}
        command="Step: run one block more"
        text="Step"
        disabled={busy || empty}
        onClick={() => void studio().runStep()}
      />
      {state === "stepping" && (
        <Command icon="stop" label="Stop stepping" command="Stop" onClick={() => void studio().stop()} />
      )}
      <span className="loop">
        <Command
          icon="loop"
          label={looped ? `Loop ${looped} ${steps} times` : `Loop ${steps} times`}
          command="Loop: run the page n times"
          text={looped ? `Loop ${looped}` : "Loop"}
          disabled={busy || empty}
          onClick={() => void studio().runLoop(steps)}
        />
        <input
          type="number"
          min={1}
          max={1000000}
          aria-label="How many times to loop"
          title="How many times to loop"
          value={steps}
          onChange={(event) => studio().setLoopSteps(Number(event.target.value))}
        />
        <span className="unit">times</span>
      </span>
    </>
  );
}

function ExportMenu() {
  const empty = useStudio((s) => Object.keys(s.document.nodes).length === 0);
  const out = (kind: "page" | "python" | "graphdef" | "svg" | "png" | "html") => () =>
    void useStudio.getState().exportAs(kind);
  return (
    <Menu
      label="Export"
      title="Export the page"
      commands={[
        { label: "Python", note: "a script that computes the same", disabled: empty, run: out("python") },
        { label: "GraphDef", note: "opens in TensorFlow and Netron", disabled: empty, run: out("graphdef") },
        { label: "Page file", note: ".page.json", run: out("page") },
        "line",
        { label: "Web page", note: "one file with values and lens", disabled: empty, run: out("html") },
        { label: "SVG picture", note: "with the page inside", disabled: empty, run: out("svg") },
        { label: "PNG picture", note: "with the page inside", disabled: empty, run: out("png") },
      ]}
    >
      <Icon name="export" />
      Export
    </Menu>
  );
}

const NEXT: Record<Theme, Theme> = { system: "light", light: "dark", dark: "system" };
const THEME_ICON: Record<Theme, IconName> = { system: "system", light: "sun", dark: "moon" };
const THEME_NAME: Record<Theme, string> = { system: "as the system", light: "light", dark: "dark" };

function ThemeButton() {
  const theme = useStudio((s) => s.theme);
  return (
    <Command
      icon={THEME_ICON[theme]}
      label={`Theme: ${THEME_NAME[theme]}; click for ${THEME_NAME[NEXT[theme]]}`}
      onClick={() => useStudio.getState().setTheme(NEXT[theme])}
    />
  );
}
