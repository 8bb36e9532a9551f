// Why a number is this number: the sum that it is, term by term, and a check of gradients by finite differences.
import { useState } from "react";
import type { Sum, Term } from "../api/types";
import { useStudio } from "../store";
import { formatNumber } from "../values/format";
import { fraction, termName } from "./words";

const FEW = 4;

export function SumLine({ sum }: { sum: Sum }) {
  const [all, setAll] = useState(false);
  const nodes = useStudio((s) => s.document.nodes);
  const ops = useStudio((s) => s.ops);
  const lens = useStudio((s) => s.lens);
  const shown = all ? sum.terms : sum.terms.slice(0, FEW);
  const more = sum.count - shown.length;
  const most = Math.max(...sum.terms.map((term) => Math.abs(term.product ?? 0)), 1e-300);
  const isGradient = ops.get(nodes[lens?.node ?? ""]?.op ?? "")?.gradient ?? false;
  const check = lens?.difference;
  return (
    <section className="lens-sum" aria-label="Why this number">
      <p className="lens-formula">
        <b>{formatNumber(sum.value, "float64", 5)}</b>
        {sum.is_sum ? " = " : ` = ${sum.op} of: `}
        {shown.map((term, place) => (
          <OneTerm
            // biome-ignore lint/suspicious/noArrayIndexKey: terms have no other name
            key={place}
            term={term}
            first={place === 0}
            share={Math.abs(term.product ?? 0) / most}
            slope={!sum.is_sum}
          />
        ))}
        {more > 0 && (
          <button type="button" className="lens-more" onClick={() => setAll(true)} disabled={all}>
            {all ? `and ${more} that are not told` : `+ ${more} more`}
          </button>
        )}
        {!sum.is_sum && <span className="lens-note">(no sum: slopes)</span>}
      </p>
      {isGradient && (
        <p className="lens-check">
          <button type="button" onClick={() => void useStudio.getState().checkGradient()}>
            Check by finite differences
          </button>
          {check && (
            <output className={check.holds ? "lens-good" : "lens-wrong"} aria-label="Check by finite differences">
              {check.holds ? "✓ " : "✗ "}
              gradient {formatNumber(check.gradient, "float64", 5)}, difference{" "}
              {formatNumber(check.difference, "float64", 5)}
            </output>
          )}
        </p>
      )}
    </section>
  );
}

type TermProps = { term: Term; first: boolean; share: number; slope: boolean };

/** A coefficient times an entry; pointed at, the entry lights up where it stands. */
function OneTerm({ term, first, share, slope }: TermProps) {
  const { pointAt, goTo } = useStudio.getState();
  const lit = { source: term.source, index: term.index };
  const node = term.source.slice(0, term.source.lastIndexOf("."));
  const known = useStudio((s) => Object.hasOwn(s.document.nodes, node));
  const value = formatNumber(term.value, "float64", 4);
  const negative = (term.product ?? 0) < 0;
  return (
    <>
      {first ? "" : slope ? ", " : " + "}
      <button
        type="button"
        className={`lens-term${negative ? " negative" : ""}`}
        style={{ borderBottomWidth: 1 + Math.round(3 * share) }}
        title={`${fraction(term.coefficient)} · ${termName(term)}`}
        onPointerEnter={() => pointAt(lit)}
        onPointerLeave={() => pointAt(null)}
        onFocus={() => pointAt(lit)}
        onBlur={() => pointAt(null)}
        onClick={() => known && goTo(node)}
      >
        {`${value}·${fraction(term.coefficient)}`}
      </button>
    </>
  );
}
