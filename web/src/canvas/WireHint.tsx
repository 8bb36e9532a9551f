// Words at the pointer while a wire is drawn: why a port does not fit, or what to do next.
import { useEffect, useState } from "react";
import { useStudio } from "../store";

type Hint = { text: string; x: number; y: number };

export function WireHint() {
  const wiring = useStudio((s) => s.wiring);
  const [hint, setHint] = useState<Hint | null>(null);
  useEffect(() => {
    const show = (event: Event) => setHint((event as CustomEvent<Hint | null>).detail);
    window.addEventListener("wire-hint", show);
    return () => window.removeEventListener("wire-hint", show);
  }, []);
  useEffect(() => {
    if (!wiring) setHint(null);
  }, [wiring]);
  if (!wiring) return null;
  const other = wiring.side === "output" ? "an input" : "an output";
  return (
    <>
      {wiring.way === "click" && (
        <div className="wire-guide" role="status">
          Wire from <b>{`${wiring.node}.${wiring.port}`}</b>: click {other}, or press Esc.
        </div>
      )}
      {hint && (
        <div
          className="wire-hint"
          style={{ left: Math.min(hint.x, window.innerWidth - 300), top: hint.y }}
          role="tooltip"
        >
          {hint.text}
        </div>
      )}
    </>
  );
}
