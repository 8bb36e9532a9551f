// Differentiate: an output, and the inputs whose gradients are wanted.
import { useEffect, useMemo, useState } from "react";
import { api, reason } from "../api/client";
import type { Choice } from "../api/types";
import { allWires } from "../page/links";
import { useStudio } from "../store";
import { Dialog } from "./Dialog";

const keyOf = ({ side, name }: Choice) => `${side} ${name}`;

export function DifferentiateDialog() {
  const document = useStudio((s) => s.document);
  const ops = useStudio((s) => s.ops);
  const selected = useStudio((s) => s.selection.nodes);
  const { closeDialog, differentiate } = useStudio.getState();
  const outputs = useMemo(
    () =>
      Object.entries(document.nodes).flatMap(([node, entry]) =>
        (ops.get(entry.op)?.outputs ?? []).map((output) => ({ node, place: `${node}.${output.name}` })),
      ),
    [document, ops],
  );
  const [output, setOutput] = useState(() => firstOutput(outputs, selected));
  const [choices, setChoices] = useState<Choice[] | null>(null);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [wrong, setWrong] = useState("");
  const [busy, setBusy] = useState(false);

  useEffect(() => {
    if (!output) return;
    let late = false;
    setChoices(null);
    setWrong("");
    const { file } = useStudio.getState();
    api.differentiable({ page: document, path: file.path, output }).then(
      ({ inputs }) => {
        if (late) return;
        setChoices([...inputs].sort((a, b) => Number(a.reason !== "") - Number(b.reason !== "")));
        const can = inputs.filter((input) => !input.reason);
        const end = output.slice(0, output.lastIndexOf("."));
        const own = can.filter(({ name }) => {
          const node = name.slice(0, name.lastIndexOf("."));
          return selected.includes(node) && node !== end;
        });
        setPicked(new Set((own.length ? own : can.length === 1 ? can : []).map(keyOf)));
      },
      (problem) => {
        if (!late) setWrong(reason(problem));
      },
    );
    return () => {
      late = true;
    };
  }, [output, document, selected]);

  if (!outputs.length) {
    return (
      <Dialog title="Differentiate">
        <p>The page has no outputs yet: add a block first.</p>
      </Dialog>
    );
  }
  const toggle = (name: string) => {
    const next = new Set(picked);
    if (!next.delete(name)) next.add(name);
    setPicked(next);
  };
  return (
    <Dialog title="Differentiate">
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          setBusy(true);
          const wanted = (choices ?? []).filter((choice) => picked.has(keyOf(choice)));
          const named = (side: Choice["side"]) => wanted.filter((one) => one.side === side).map((one) => one.name);
          const done = await differentiate(output, named("output"), named("input"));
          setBusy(false);
          if (done) closeDialog();
        }}
      >
        <label className="stack">
          Gradient of
          <select value={output} onChange={(event) => setOutput(event.target.value)}>
            {outputs.map(({ place }) => (
              <option key={place}>{place}</option>
            ))}
          </select>
        </label>
        <fieldset className="choices checks">
          <legend>With respect to</legend>
          {!choices && !wrong && <p className="quiet">Looking what it depends on…</p>}
          {choices?.length === 0 && <p className="quiet">It depends on nothing that can be differentiated.</p>}
          {choices?.map((choice) => (
            <label key={keyOf(choice)} className="choice check" aria-disabled={choice.reason !== ""}>
              <input
                type="checkbox"
                disabled={choice.reason !== ""}
                checked={picked.has(keyOf(choice))}
                onChange={() => toggle(keyOf(choice))}
              />
              <span>
                <b>{choice.name}</b>
                {choice.side === "input" && <span className="op-note">the value in this port</span>}
                {choice.reason && <span className="op-note">{choice.reason}</span>}
              </span>
            </label>
          ))}
        </fieldset>
        <p className="field-note" role="status">
          {wrong || "A block for each gradient appears on the page, and follows every edit; one undo takes them away."}
        </p>
        <div className="dialog-actions">
          <button type="button" onClick={closeDialog}>
            Cancel
          </button>
          <button type="submit" className="primary" disabled={!picked.size || busy}>
            Differentiate
          </button>
        </div>
      </form>
    </Dialog>
  );

  /** Of the selected blocks the one that no other selected one reads; else the page's last leaf. */
  function firstOutput(all: { node: string; place: string }[], some: string[]): string {
    const within = some.length ? some : Object.keys(document.nodes);
    const read = new Set(
      allWires(document)
        .filter((wire) => within.includes(wire.node))
        .map((wire) => wire.sourceNode),
    );
    const leaf = within.filter((node) => !read.has(node)).at(-1) ?? within.at(-1);
    return all.find((one) => one.node === leaf)?.place ?? all[0]?.place ?? "";
  }
}
