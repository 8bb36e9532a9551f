// The frame of every dialog: the browser's own, so focus stays inside and Esc closes.
import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";

type Props = { title: string; children: ReactNode; wide?: boolean; onClose?: () => void };

export function Dialog({ title, children, wide, onClose }: Props) {
  const box = useRef<HTMLDialogElement>(null);
  const heading = useId();
  const close = onClose ?? useStudio.getState().closeDialog;
  // Closed while it is still in the document, so that the browser gives the focus back to whoever had it.
  useLayoutEffect(() => {
    const dialog = box.current;
    if (dialog && !dialog.open) {
      dialog.showModal();
      // The browser would take the first control, which closes the dialog.
      const first =
        dialog.querySelector<HTMLElement>("input:enabled, select, textarea") ??
        dialog.querySelector<HTMLElement>(".primary");
      first?.focus();
    }
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={box}
      className={wide ? "dialog wide" : "dialog"}
      aria-labelledby={heading}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
    >
      <div className="dialog-head">
        <h2 id={heading}>{title}</h2>
        <button type="button" className="ghost tiny" aria-label="Close" title="Close (Esc)" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {children}
    </dialog>
  );
}
