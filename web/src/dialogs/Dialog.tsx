// The frame of every dialog; Esc closes it.
import { type ReactNode, useId } from "react";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import { useModal } from "./useModal";

type Props = { title: string; children: ReactNode; wide?: boolean; onClose?: () => void };

export function Dialog({ title, children, wide, onClose }: Props) {
  const heading = useId();
  const close = onClose ?? useStudio.getState().closeDialog;
  const box = useModal((dialog) => {
    // The browser would take the first control, which closes the dialog.
    const first =
      dialog.querySelector<HTMLElement>("input:enabled, select, textarea") ??
      dialog.querySelector<HTMLElement>(".primary");
    first?.focus();
  });
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
        <IconButton icon="close" label="Close" title="Close (Esc)" onClick={close} />
      </div>
      {children}
    </dialog>
  );
}
