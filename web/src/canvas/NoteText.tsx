// A note as it is read. A link leads to a block, or opens the lens on a row of its value.
import { type ReactNode, useMemo } from "react";
import { has } from "../page/links";
import { useStudio } from "../store";
import { type Inline, linesOf } from "./markdown";

export function NoteText({ text }: { text: string }) {
  const lines = useMemo(() => linesOf(text), [text]);
  return (
    <div className="note-text nowheel">
      {lines.map(({ kind, parts }, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
        <p key={place} className={`note-line-${kind}`}>
          <Parts parts={parts} />
        </p>
      ))}
    </div>
  );
}

function Parts({ parts }: { parts: readonly Inline[] }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: a part is its place
  return parts.map((part, place) => <span key={place}>{drawn(part)}</span>);
}

function drawn(part: Inline): ReactNode {
  switch (part.kind) {
    case "text":
      return part.text;
    case "bold":
      return <b>{part.text}</b>;
    case "slanted":
      return <em>{part.text}</em>;
    case "code":
      return <code>{part.text}</code>;
    case "low":
      return <sub>{part.text}</sub>;
    case "high":
      return <sup>{part.text}</sup>;
    case "formula":
      return (
        <span className="formula">
          <Parts parts={part.parts} />
        </span>
      );
    case "link":
      return (
        <button type="button" className="note-link nodrag" onClick={() => follow(part.to)}>
          {part.text}
        </button>
      );
  }
}

/** "table" selects a block; "table.2" asks the lens for row 2 of it. */
function follow(to: string): void {
  const { document, results, goTo, look, toast } = useStudio.getState();
  const [, name = to, row] = /^(.*)\.(\d+)$/.exec(to) ?? [];
  const node = has(document.nodes, to) ? to : name;
  const value = results[node]?.outputs[0];
  if (!has(document.nodes, node)) {
    toast("info", `There is no block ${node} on this page.`);
    return;
  }
  goTo(node);
  if (node === to || row === undefined) return;
  if (value) void look(node, value.name, [Number(row)]);
  else toast("info", "Run the page first: a row is looked up in its values.");
}
