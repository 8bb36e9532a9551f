// Connecting without a mouse: the ports that fit, in a list; the others with the reason.
import { useEffect, useMemo, useRef, useState } from "react";
import { api, reason } from "../api/client";
import type { Fits } from "../api/types";
import { useStudio } from "../store";
import type { PortPlace } from "../store/types";
import { Dialog } from "./Dialog";

export function ConnectDialog({ from }: { from: PortPlace }) {
  const [fits, setFits] = useState<Fits | null>(null);
  const [wrong, setWrong] = useState("");
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const list = useRef<HTMLDivElement>(null);
  const close = () => {
    useStudio.getState().putDown();
    useStudio.getState().closeDialog();
  };
  useEffect(() => {
    const { document, file } = useStudio.getState();
    api.fits({ page: document, path: file.path, ...from }).then(setFits, (problem) => setWrong(reason(problem)));
  }, [from]);
  const ports = useMemo(() => {
    const wanted = query.trim().toLowerCase();
    return Object.entries(fits?.ports ?? {})
      .filter(([place]) => place.toLowerCase().includes(wanted))
      .sort(([, a], [, b]) => Number(a !== "") - Number(b !== ""));
  }, [fits, query]);
  const chosen = Math.min(at, ports.length - 1);
  useEffect(() => {
    list.current?.children[chosen]?.scrollIntoView({ block: "nearest" });
  }, [chosen]);

  const choose = async (place: number) => {
    const [target, why] = ports[place] ?? [];
    if (target === undefined) return;
    if (why) return setWrong(`${target}: ${why}`);
    const dot = target.lastIndexOf(".");
    const other = { node: target.slice(0, dot), port: target.slice(dot + 1) };
    const [source, end] = from.side === "output" ? [from, other] : [other, from];
    if (await useStudio.getState().connect(`${source.node}.${source.port}`, end.node, end.port)) close();
  };
  return (
    <Dialog title={`Connect ${from.node}.${from.port}`} onClose={close}>
      <input
        role="combobox"
        aria-expanded="true"
        aria-controls="connect-list"
        aria-activedescendant={ports[chosen] ? `connect-${chosen}` : undefined}
        aria-label={from.side === "output" ? "To which input" : "From which output"}
        placeholder={from.side === "output" ? "To which input" : "From which output"}
        value={query}
        onChange={(event) => {
          setQuery(event.target.value);
          setAt(0);
        }}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            const by = event.key === "ArrowDown" ? 1 : -1;
            setAt((chosen + by + ports.length) % Math.max(1, ports.length));
          } else if (event.key === "Enter") {
            event.preventDefault();
            void choose(chosen);
          }
        }}
      />
      <div className="choices" id="connect-list" role="listbox" aria-label="Ports" ref={list}>
        {ports.slice(0, 300).map(([target, why], place) => (
          <div
            key={target}
            id={`connect-${place}`}
            role="option"
            tabIndex={-1}
            aria-selected={place === chosen}
            aria-disabled={why !== ""}
            className="choice"
            onPointerDown={(event) => {
              event.preventDefault();
              void choose(place);
            }}
          >
            <b>{target}</b>
            {why && <span className="op-note">{why}</span>}
          </div>
        ))}
      </div>
      <p className="field-note" role="status">
        {wrong || (!fits ? "Asking what fits…" : ports.length ? "" : "There is no such port.")}
      </p>
    </Dialog>
  );
}
