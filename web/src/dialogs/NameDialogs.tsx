// Dialogs that ask for a name.
import { type ReactNode, useState } from "react";
import { nameProblem, renameNode, slug } from "../page/edits";
import { useStudio } from "../store";
import { bareName, EXTENSION, fileName, isExample } from "../store/files";
import { Dialog } from "./Dialog";

type AskProps = {
  title: string;
  label: string;
  start: string;
  verb: string;
  problem?: (text: string) => string;
  onDone(text: string): void;
  children?: ReactNode;
};

function Ask({ title, label, start, verb, problem, onDone, children }: AskProps) {
  const [text, setText] = useState(start);
  const why = problem?.(text) ?? (text.trim() ? "" : "A name is needed.");
  const { closeDialog } = useStudio.getState();
  return (
    <Dialog title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (!why) onDone(text);
        }}
      >
        <label className="stack">
          {label}
          <input
            value={text}
            spellCheck={false}
            aria-invalid={Boolean(why)}
            onFocus={(event) => event.target.select()}
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <p className="field-note" role="status">
          {why}
        </p>
        {children}
        <div className="dialog-actions">
          <button type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={Boolean(why)}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function fileProblem(text: string): string {
  if (!text.trim()) return "A name is needed.";
  return /[\\:*?"<>|]|(^|\/)\.{0,2}(\/|$)/.test(text.trim())
    ? "Letters, digits, spaces, - _ . and / for a folder."
    : "";
}

export function SaveAsDialog() {
  const path = useStudio((s) => s.file.path);
  const title = useStudio((s) => s.document.title);
  const folder = useStudio((s) => s.session?.folder ?? "");
  const pages = useStudio((s) => s.files?.pages);
  const start = path && !isExample(path) ? bareName(path) : slug(title ?? "") || "page";
  return (
    <Ask
      title="Save as"
      label={`File in ${folder || "the folder"}`}
      start={start}
      verb="Save"
      problem={(text) =>
        fileProblem(text) ||
        (pages?.some((page) => page.path === fileName(text) && page.path !== path)
          ? `There is a page ${fileName(text)} already.`
          : "")
      }
      onDone={(text) => void useStudio.getState().saveAs(text)}
    >
      <p className="field-note">Saved as a text file, {EXTENSION}: one block, one line.</p>
    </Ask>
  );
}

export function RenameFileDialog({ path }: { path: string }) {
  return (
    <Ask
      title="Rename the page’s file"
      label="New name"
      start={bareName(path)}
      verb="Rename"
      problem={fileProblem}
      onDone={(text) => void useStudio.getState().renameFile(path, text)}
    />
  );
}

export function RenameNodeDialog({ node }: { node: string }) {
  const document = useStudio((s) => s.document);
  return (
    <Ask
      title={`Rename ${node}`}
      label="New name; its wires follow"
      start={node}
      verb="Rename"
      problem={(text) => nameProblem(text, document, node)}
      onDone={(name) => {
        const studio = useStudio.getState();
        studio.closeDialog();
        if (name === node) return;
        const result = studio.results[node];
        studio.edit(`rename ${node} to ${name}`, renameNode(node, name));
        // What was computed does not depend on the name.
        if (result) useStudio.setState((state) => ({ results: { ...state.results, [name]: result } }));
        studio.select({ nodes: [name] });
      }}
    />
  );
}

export function DeleteFileDialog({ path }: { path: string }) {
  const { closeDialog, deleteFile } = useStudio.getState();
  return (
    <Dialog title="Delete this page?">
      <p>
        <b>{path}</b> goes to the folder’s trash, .gradbag/trash, from where it can be taken back by hand.
      </p>
      <div className="dialog-actions">
        <button type="button" onClick={closeDialog}>
          Keep it
        </button>
        <button type="button" className="danger" onClick={() => void deleteFile(path)}>
          Delete
        </button>
      </div>
    </Dialog>
  );
}
