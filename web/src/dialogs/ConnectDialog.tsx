// Connecting without a mouse: the ports that fit, in a list; the others with the reason.
import { useEffect, useMemo, useState } from "react";
import { api, reason } from "../api/client";
import type { Fits } from "../api/types";
import { useChosen } from "../palette/useChosen";
import { useStudio } from "../store";
import type { PortPlace } from "../store/types";
import { Dialog } from "./Dialog";

export function ConnectDialog({ from }: { from: PortPlace }) {
  const [fits, setFits] = useState<Fits | null>(null);
  const [wrong, setWrong] = useState("");
  const [query, setQuery] = useState("");
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

  const choose = async (place: number) => {
    const [target, why] = ports[place] ?? [];
    if (target === undefined) return;
    if (why) return setWrong(`${target}: ${why}`);
    const dot = target.lastIndexOf(".");
    if (await useStudio.getState().join(from, { node: target.slice(0, dot), port: target.slice(dot + 1) })) close();
  };
  const { chosen, setAt, list, onKeyDown } = useChosen(ports.length, (place) => void choose(place));
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
        onKeyDown={onKeyDown}
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
