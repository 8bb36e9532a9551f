import { type RefObject, useLayoutEffect, useRef } from "react";

/** Opens a dialog as the browser's own, so focus stays inside; `begin` gives it to what is used first. */
export function useModal(begin: (dialog: HTMLDialogElement) => void): RefObject<HTMLDialogElement | null> {
  const box = useRef<HTMLDialogElement>(null);
  // Closed while it is still in the document, so that the browser gives the focus back to whoever had it.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once, when it opens
  useLayoutEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      begin(dialog);
    }
    return () => dialog?.close();
  }, []);
  return box;
}
