// Search at the pointer: type, choose, and the block is there; connected when a wire was dropped into the void.
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import type { OpInfo } from "../api/types";
import { focusBlock } from "../canvas/view";
import { useStudio } from "../store";
import { useChosen } from "./useChosen";
import { useFinder } from "./useFinder";

const MOST = 50;
const WIDTH = 340;
const HEIGHT = 380;

type Choice = { op: OpInfo; port: string };

export function QuickPalette() {
  const quick = useStudio((s) => s.quick);
  const fits = useStudio((s) => s.wiring?.fits ?? null);
  return quick ? <Search key={`${quick.at}`} quick={quick} fits={quick.wiring ? fits : null} /> : null;
}

type Props = {
  quick: NonNullable<ReturnType<typeof useStudio.getState>["quick"]>;
  fits: { ops: { op: string; port: string }[] } | null;
};

function Search({ quick, fits }: Props) {
  const ops = useStudio((s) => s.ops);
  const closeQuick = useStudio((s) => s.closeQuick);
  const find = useFinder();
  const [query, setQuery] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    const field = input.current;
    const before = document.activeElement;
    field?.focus();
    return () => {
      if (document.activeElement === field && before instanceof HTMLElement) before.focus();
    };
  }, []);
  const wiring = quick.wiring;
  const choices = useMemo<Choice[]>(() => {
    if (!wiring)
      return find(query)
        .slice(0, MOST)
        .map((op) => ({ op, port: "" }));
    const fitting = (fits?.ops ?? []).flatMap(({ op, port }) => {
      const info = ops.get(op);
      return info ? [{ op: info, port }] : [];
    });
    if (!query.trim()) return fitting.slice(0, MOST);
    const rank = new Map(find(query).map((op, place) => [op.name, place]));
    return fitting
      .filter((choice) => rank.has(choice.op.name))
      .sort((a, b) => (rank.get(a.op.name) as number) - (rank.get(b.op.name) as number))
      .slice(0, MOST);
  }, [find, query, wiring, fits, ops]);

  const choose = (choice: Choice | undefined) => {
    if (!choice) return;
    const studio = useStudio.getState();
    closeQuick();
    const name = studio.addBlock(choice.op.name, quick.position, wiring ? { wiring, port: choice.port } : undefined);
    // Keys go on at the new block.
    if (name) focusBlock(name);
  };
  const { chosen, setAt, list, onKeyDown } = useChosen(choices.length, (place) => choose(choices[place]));
  const left = Math.max(8, Math.min(quick.at[0], window.innerWidth - WIDTH - 8));
  const top = Math.max(8, Math.min(quick.at[1], window.innerHeight - HEIGHT - 8));
  return (
    <div className="quick" style={{ left, top, width: WIDTH }} role="dialog" aria-label="Add a block">
      {wiring && (
        <div className="quick-from">
          Blocks that fit <b>{`${wiring.node}.${wiring.port}`}</b>
        </div>
      )}
      <input
        ref={input}
        role="combobox"
        aria-expanded="true"
        aria-controls="quick-list"
        aria-activedescendant={choices[chosen] ? `quick-${chosen}` : undefined}
        aria-label="Find a block"
        placeholder="Find a block"
        value={query}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onBlur={(event) => {
          const next = event.relatedTarget;
          if (!(next instanceof Element && next.closest(".quick"))) closeQuick();
        }}
        onKeyDown={(event) => {
          onKeyDown(event);
          if (event.key !== "Escape") return;
          event.preventDefault();
          event.stopPropagation();
          closeQuick();
        }}
      />
      <div className="quick-list" id="quick-list" role="listbox" aria-label="Blocks" ref={list}>
        {choices.map((choice, place) => (
          <div
            key={`${choice.op.name} ${choice.port}`}
            id={`quick-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            className="quick-op"
            onPointerMove={() => setAt(place)}
            onPointerDown={(event) => {
              event.preventDefault();
              choose(choice);
            }}
          >
            <span className="op-title">
              {choice.op.title}
              {choice.port && <span className="op-port"> · {choice.port}</span>}
            </span>
            <span className="op-note">{choice.op.summary}</span>
          </div>
        ))}
      </div>
      {!choices.length && (
        <p className="quiet">
          {wiring && !fits ? "Looking for blocks that fit…" : query ? "No such block fits." : "No block fits."}
        </p>
      )}
    </div>
  );
}
