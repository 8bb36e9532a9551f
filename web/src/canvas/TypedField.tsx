// What is typed right into a block: kept as a draft until Enter or until the field is left, and refused in words.
import { type ReactNode, useState } from "react";

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
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState("");
  const commit = () => {
    if (draft === null || draft === shown) return setDraft(null);
    try {
      onText(draft);
      setDraft(null);
      setWrong("");
    } catch (trouble) {
      setWrong(trouble instanceof Error ? trouble.message : String(trouble));
    }
  };
  return (
    <span className="field nodrag">
      <input
        value={draft ?? shown}
        placeholder={placeholder}
        aria-label={label}
        aria-invalid={Boolean(wrong || problem)}
        title={wrong || problem || shown}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setDraft(event.target.value);
          setWrong("");
        }}
        onBlur={commit}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
          if (event.key === "Escape") {
            event.stopPropagation();
            setDraft(null);
            setWrong("");
          }
        }}
      />
      {children}
      {wrong && <span className="field-problem">{wrong}</span>}
    </span>
  );
}
