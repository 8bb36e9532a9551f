// Which dialog is open.
import { lazy, Suspense } from "react";
import { useStudio } from "../store";
import { ConnectDialog } from "./ConnectDialog";
import { DifferentiateDialog } from "./DifferentiateDialog";
import { KeysDialog } from "./KeysDialog";
import { DeleteFileDialog, RenameFileDialog, RenameNodeDialog, SaveAsDialog } from "./NameDialogs";
import { ConflictDialog, LeaveDialog, RecoveredDialog, TrustDialog } from "./QuestionDialogs";

const GridDialog = lazy(() => import("./GridDialog"));

export function Dialogs() {
  const dialog = useStudio((s) => s.dialog);
  if (!dialog) return null;
  switch (dialog.kind) {
    case "keys":
      return <KeysDialog />;
    case "save-as":
      return <SaveAsDialog />;
    case "rename-file":
      return <RenameFileDialog path={dialog.path} />;
    case "delete-file":
      return <DeleteFileDialog path={dialog.path} />;
    case "rename-node":
      return <RenameNodeDialog node={dialog.node} />;
    case "conflict":
      return <ConflictDialog />;
    case "recovered":
      return <RecoveredDialog savedAt={dialog.savedAt} page={dialog.page} />;
    case "trust":
      return <TrustDialog onYes={dialog.onYes} />;
    case "leave":
      return <LeaveDialog onYes={dialog.onYes} />;
    case "differentiate":
      return <DifferentiateDialog />;
    case "connect":
      return <ConnectDialog from={dialog.from} />;
    case "grid":
      return (
        <Suspense fallback={null}>
          <GridDialog target={dialog.target} />
        </Suspense>
      );
  }
}
