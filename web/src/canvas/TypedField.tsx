// What is typed right into a block: kept as a draft until Enter or until the field is left, and refused in words.
import type { ReactNode } from "react";
import { useDraft } from "../values/useDraft";

type Props = {
  label: string;
  /** The text of the value as it is. */
  shown: string;
  problem?: string | undefined;
  placeholder?: string;
  /** Takes a text over; throws a sentence if it cannot. */
  onText(text: string): void;
  /** A button beside the field. */
  children?: ReactNode;
};

export function TypedField({ label, shown, problem, placeholder, onText, children }: Props) {
  const { wrong, field, commit, drop } = useDraft(shown, onText);
  return (
    <span className="field nodrag">
      <input
        {...field}
        placeholder={placeholder}
        aria-label={label}
        aria-invalid={Boolean(wrong || problem)}
        title={wrong || problem || shown}
        spellCheck={false}
        autoComplete="off"
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
          if (event.key === "Escape") {
            event.stopPropagation();
            drop();
          }
        }}
      />
      {children}
      {wrong && <span className="field-problem">{wrong}</span>}
    </span>
  );
}
