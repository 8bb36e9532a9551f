// The side list of blocks, by category; a search narrows it.
import { useMemo, useState } from "react";
import type { OpInfo, Point } from "../api/types";
import { besideSelection } from "../canvas/geometry";
import { canvasView, DRAGGED_OP, placeOnPage } from "../canvas/view";
import { useStudio } from "../store";
import { Icon, IconButton } from "../toolbar/Icon";
import { useFinder } from "./useFinder";

export function Palette() {
  const catalogue = useStudio((s) => s.catalogue);
  const find = useFinder();
  const [query, setQuery] = useState("");
  const found = useMemo(() => (query.trim() ? find(query) : null), [find, query]);
  if (!catalogue) return <p className="quiet">Loading the blocks…</p>;
  return (
    <div className="palette">
      <label className="search">
        <Icon name="search" />
        <input
          type="search"
          placeholder={`Search ${catalogue.ops.length} blocks`}
          aria-label="Search blocks"
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
      </label>
      <div className="scroll">
        {found ? (
          found.length ? (
            <ul className="ops">
              {found.slice(0, 80).map((op) => (
                <OpRow key={op.name} op={op} category />
              ))}
            </ul>
          ) : (
            <p className="quiet">No block is called “{query}” or does such a thing.</p>
          )
        ) : (
          catalogue.categories.map((category) => {
            const ops = catalogue.ops.filter((op) => op.category === category);
            if (!ops.length) return null;
            return (
              <details key={category} className="category">
                <summary>
                  {category} <span className="count">{ops.length}</span>
                </summary>
                <ul className="ops">
                  {ops.map((op) => (
                    <OpRow key={op.name} op={op} />
                  ))}
                </ul>
              </details>
            );
          })
        )}
      </div>
      <p className="hint">Click to add, or drag onto the canvas.</p>
    </div>
  );
}

function OpRow({ op, category }: { op: OpInfo; category?: boolean }) {
  return (
    <li className="op-row">
      <button
        type="button"
        className="op"
        draggable
        title={op.summary}
        onDragStart={(event) => {
          event.dataTransfer.setData(DRAGGED_OP, op.name);
          event.dataTransfer.effectAllowed = "copy";
        }}
        onClick={() => useStudio.getState().addBlock(op.name, placeForNew())}
      >
        <span className="op-title">{op.title}</span>
        <span className="op-note">{category ? op.category : op.summary}</span>
      </button>
      <IconButton
        icon="help"
        label={`Help on ${op.title}`}
        title={`What ${op.title} does`}
        onClick={() => useStudio.getState().showHelp(op.name)}
      />
    </li>
  );
}

/** Right of what is selected, else in the middle of the canvas. */
function placeForNew(): Point {
  const box = canvasView.element?.getBoundingClientRect();
  const middle: Point = box ? [box.left + box.width / 2 - 120, box.top + box.height / 3] : [400, 300];
  return besideSelection(useStudio.getState()) ?? placeOnPage(middle);
}
