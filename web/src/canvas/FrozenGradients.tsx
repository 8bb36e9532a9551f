// A page from before gradients followed it: an offer to make them do so.
import { useState } from "react";
import { useStudio } from "../store";
import { counted } from "../store/editing";

const NONE: string[] = [];

export function FrozenGradients() {
  const frozen = useStudio((s) => s.check?.frozen ?? NONE);
  const journal = useStudio((s) => s.file.journal);
  const [kept, setKept] = useState(""); // the page on which they shall stay
  if (!frozen.length || kept === journal) return null;
  return (
    <section className="frozen-bar" aria-label="Gradients that were written out">
      <p>
        {counted(frozen.length, "gradient")} of this page {frozen.length === 1 ? "was" : "were"} written out once:
        editing the page does not change {frozen.length === 1 ? "it" : "them"}.
      </p>
      <button type="button" className="primary" onClick={() => void useStudio.getState().restate()}>
        Make {frozen.length === 1 ? "it" : "them"} follow the page
      </button>
      <button type="button" onClick={() => setKept(journal)}>
        Keep as is
      </button>
    </section>
  );
}
