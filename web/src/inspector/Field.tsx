import { type ReactNode, useId } from "react";
import type { Problem } from "../api/types";
import { useDraft } from "../values/useDraft";

type Props = {
  label: string;
  /** What the screen reader says; the label where it is not given. */
  name?: string;
  text: string;
  hint?: string;
  placeholder?: string;
  /** What is wrong with the value as it stands. */
  problem?: string;
  /** Takes a text over; throws an Error with a sentence where it means nothing. */
  onText: (text: string) => void;
  children?: ReactNode;
};

/** A text field that takes over what is typed on Enter or when it is left, or says why it cannot. */
export function Field({ label, name, text, hint, placeholder, problem, onText, children }: Props) {
  const id = useId();
  const { wrong, field, commit, drop } = useDraft(text, onText);
  const said = wrong || problem || "";
  return (
    <div className="inspector-field">
      <label htmlFor={id} title={hint}>
        {label}
      </label>
      <span className="inspector-input">
        <input
          id={id}
          aria-label={name}
          {...field}
          placeholder={placeholder}
          title={field.value}
          spellCheck={false}
          autoComplete="off"
          aria-invalid={said !== "" || undefined}
          aria-describedby={said ? `${id}-said` : undefined}
          onKeyDown={(event) => {
            // Typing is not for the page's own keys.
            if (!event.ctrlKey && !event.metaKey && event.key !== "F1") event.stopPropagation();
            if (event.key === "Enter") commit();
            if (event.key === "Escape") drop();
          }}
        />
        {children}
      </span>
      {said && (
        <span id={`${id}-said`} className="inspector-wrong">
          {said}
        </span>
      )}
    </div>
  );
}

/** All that is wrong at a port or a setting. */
export function problemAt(problems: readonly Problem[], port: string): string {
  return problems
    .filter((one) => one.port === port)
    .map((one) => one.text)
    .join(" ");
}
