import { useEffect, useState } from "react";
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { SumLine } from "./SumLine";
import { lensText, nextRow, rowCount, shortName } from "./words";
import "./lens.css";

const NONE = {};

/** Says what the row lens lights up; while it is open, the arrows go from row to row and Esc closes it. */
export function LensBar() {
  const lens = useStudio((state) => state.lens);
  const isOpen = lens !== null;
  const results = useStudio((state) => (state.lens ? state.results : NONE));
  const [all, setAll] = useState(false); // whether everything that belongs to the row is named
  const text = lens
    ? lensText(lens, (port) => shortName(results, port), all ? Number.POSITIVE_INFINITY : undefined)
    : "";
  const settled = lens !== null && (lens.lens !== null || lens.error !== "");

  useEffect(() => {
    if (settled) useStudio.getState().say(text);
  }, [settled, text]);

  useEffect(() => {
    if (!isOpen) return;
    // Before the canvas sees them: there the arrows would move the block that was clicked.
    window.addEventListener("keydown", onKey, true);
    return () => window.removeEventListener("keydown", onKey, true);
  }, [isOpen]);

  if (!lens) return null;
  const sum = lens.lens?.sum;
  const count = rowCount(useStudio.getState(), lens.node, lens.port);
  const [up, down] = [nextRow(lens.index, -1, count), nextRow(lens.index, 1, count)];
  const go = (index: number[] | null) => index && void useStudio.getState().look(lens.node, lens.port, index);
  return (
    <section className="lens-bar" aria-label="Row lens">
      <span className="lens-mark" aria-hidden="true" />
      <p className={lens.error ? "lens-text lens-wrong" : "lens-text"}>{text}</p>
      {(all || /\d more/.test(text)) && (
        <button type="button" className="lens-all" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? "less" : "all"}
        </button>
      )}
      <button type="button" disabled={!up} onClick={() => go(up)} aria-label="Row above" title="Row above (↑)">
        ↑
      </button>
      <button type="button" disabled={!down} onClick={() => go(down)} aria-label="Row below" title="Row below (↓)">
        ↓
      </button>
      <button
        type="button"
        onClick={() => useStudio.getState().closeLens()}
        aria-label="Close the row lens"
        title="Close (Esc)"
      >
        <Icon name="close" />
      </button>
      {sum && sum.terms.length > 0 && lens.cell && <SumLine key={`${lens.node} ${lens.cell}`} sum={sum} />}
    </section>
  );
}

function onKey(event: KeyboardEvent): void {
  const studio = useStudio.getState();
  const { lens } = studio;
  if (!lens || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || isOwn(event.target)) return;
  if (event.key === "Escape") {
    if (studio.wiring || studio.quick || studio.dialog) return;
    studio.closeLens();
  } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    const count = rowCount(studio, lens.node, lens.port);
    const index = nextRow(lens.index, event.key === "ArrowDown" ? 1 : -1, count);
    if (index) void studio.look(lens.node, lens.port, index);
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Whether what has the focus has a use for these keys itself. */
function isOwn(target: EventTarget | null): boolean {
  if (!(target instanceof Element)) return false;
  const own =
    "input, textarea, select, dialog, [contenteditable], [role=dialog], [role=grid], [role=listbox], [role=tree], [role=menu], [role=tab]";
  return target.closest(own) !== null;
}
