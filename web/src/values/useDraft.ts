import { type ChangeEvent, useState } from "react";
import { reason } from "../api/client";

/** What is typed into a field: a draft until `onText` takes it over, or refuses it by throwing a sentence. */
export function useDraft(shown: string, onText: (text: string) => void) {
  const [draft, setDraft] = useState<string | null>(null);
  const [wrong, setWrong] = useState("");
  const put = (text: string | null) => {
    setDraft(text);
    setWrong("");
  };
  const commit = () => {
    try {
      if (draft !== null && draft !== shown) onText(draft);
      put(null);
    } catch (problem) {
      setWrong(reason(problem));
    }
  };
  return {
    wrong,
    commit,
    drop: () => put(null),
    field: {
      value: draft ?? shown,
      onChange: (event: ChangeEvent<HTMLInputElement | HTMLTextAreaElement>) => put(event.target.value),
      onBlur: commit,
    },
  };
}
