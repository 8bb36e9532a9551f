// Questions: whose version, recover or discard, trust, leave.
import { useState } from "react";
import type { Document } from "../api/types";
import { useStudio } from "../store";
import { counted } from "../store/editing";
import { bareName } from "../store/files";
import { Dialog } from "./Dialog";

export function ConflictDialog() {
  const path = useStudio((s) => s.file.path ?? "");
  const { resolveConflict } = useStudio.getState();
  const [copy, setCopy] = useState(bareName(path, "_mine"));
  return (
    <Dialog title="This page was saved elsewhere meanwhile">
      <p>
        <b>{path}</b> has changed since it was opened here: in another tab, or in another program. Nothing has been
        overwritten yet.
      </p>
      <label className="stack">
        Name for a copy
        <input value={copy} spellCheck={false} onChange={(event) => setCopy(event.target.value)} />
      </label>
      <div className="dialog-actions">
        <button type="button" onClick={() => void resolveConflict("theirs")}>
          Take theirs
        </button>
        <button type="button" className="danger" onClick={() => void resolveConflict("mine")}>
          Keep mine
        </button>
        <button type="button" className="primary" onClick={() => void resolveConflict("copy", copy)}>
          Save a copy
        </button>
      </div>
    </Dialog>
  );
}

export function RecoveredDialog({ savedAt, page }: { savedAt: string; page: Document }) {
  const { resolveRecovery } = useStudio.getState();
  const when = new Date(savedAt);
  const text = Number.isNaN(when.getTime()) ? savedAt : when.toLocaleString();
  return (
    <Dialog title="There is work that was not saved" onClose={() => void resolveRecovery("recover")}>
      <p>
        The studio kept a version of this page from <b>{text}</b> that never reached its file. It has{" "}
        {counted(Object.keys(page.nodes ?? {}).length, "block")}.
      </p>
      <div className="dialog-actions">
        <button type="button" className="danger" onClick={() => void resolveRecovery("discard")}>
          Discard it
        </button>
        <button type="button" className="primary" onClick={() => void resolveRecovery("recover")}>
          Recover it
        </button>
      </div>
    </Dialog>
  );
}

export function TrustDialog({ onYes }: { onYes(): void }) {
  const { closeDialog, trust } = useStudio.getState();
  const count = useStudio((s) => Object.keys(s.document.nodes).length);
  return (
    <Dialog title="Run this page?">
      <p>
        This page was not made here. Its {counted(count, "block")} can read the data files beside it and use this
        computer’s time and memory, within the studio’s limits. It can run no other program.
      </p>
      <div className="dialog-actions">
        <button type="button" onClick={closeDialog}>
          Not now
        </button>
        <button
          type="button"
          className="primary"
          onClick={async () => {
            await trust();
            closeDialog();
            onYes();
          }}
        >
          Run it
        </button>
      </div>
    </Dialog>
  );
}

export function LeaveDialog({ onYes }: { onYes(): void }) {
  const { closeDialog } = useStudio.getState();
  const title = useStudio((s) => s.document.title || s.file.path || "This page");
  const leave = () => {
    closeDialog();
    onYes();
  };
  return (
    <Dialog title="Save the changes first?">
      <p>
        <b>{title}</b> has changes that are not in its file.
      </p>
      <div className="dialog-actions">
        <button type="button" onClick={closeDialog}>
          Stay here
        </button>
        <button type="button" className="danger" onClick={leave}>
          Leave without saving
        </button>
        <button
          type="button"
          className="primary"
          onClick={async () => {
            closeDialog();
            await useStudio.getState().save();
            const { document, file } = useStudio.getState();
            if (document === file.savedDocument) onYes();
          }}
        >
          Save
        </button>
      </div>
    </Dialog>
  );
}
