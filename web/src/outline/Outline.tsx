// The page as a list: every block with its ports. Connecting, editing and running need no mouse here.
import { type KeyboardEvent, useMemo, useRef, useState } from "react";
import { reason } from "../api/client";
import type { Argument } from "../api/types";
import { rowsOf } from "../canvas/geometry";
import { argumentAt, isLink } from "../page/links";
import { nodeState, useStudio } from "../store";
import { counted } from "../store/editing";
import { literalText, parseArgument } from "../values/parse";

type Line =
  | { kind: "block"; id: string; node: string; open: boolean }
  | { kind: "input"; id: string; node: string; port: string; argument: Argument | undefined }
  | { kind: "output"; id: string; node: string; port: string };

export function Outline() {
  const document = useStudio((s) => s.document);
  const ops = useStudio((s) => s.ops);
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set());
  const [active, setActive] = useState("");
  const [editing, setEditing] = useState("");
  const tree = useRef<HTMLDivElement>(null);

  const lines = useMemo(() => {
    const made: Line[] = [];
    for (const [node, entry] of Object.entries(document.nodes)) {
      const open = opened.has(node);
      made.push({ kind: "block", id: node, node, open });
      if (!open) continue;
      const rows = rowsOf(entry, ops.get(entry.op), []);
      for (const { port } of rows.inputs) {
        made.push({ kind: "input", id: `${node}.in.${port}`, node, port, argument: argumentAt(entry, port) });
      }
      for (const port of rows.outputs) made.push({ kind: "output", id: `${node}.out.${port}`, node, port });
    }
    return made;
  }, [document, ops, opened]);

  if (!lines.length) return <p className="quiet">The page has no blocks yet. Press Space to add one.</p>;
  const current = lines.some((line) => line.id === active) ? active : (lines[0]?.id ?? "");

  const focus = (id: string) => {
    setActive(id);
    // At once, not with the next frame: the next key may come before it.
    tree.current?.querySelector<HTMLElement>(`[data-line="${CSS.escape(id)}"]`)?.focus();
  };
  const finish = (id: string) => {
    setEditing("");
    focus(id);
  };
  const toggle = (node: string, open: boolean) =>
    setOpened((before) => {
      const next = new Set(before);
      if (open) next.add(node);
      else next.delete(node);
      return next;
    });
  const studio = useStudio.getState;

  const connect = ({ node, port, kind }: Exclude<Line, { kind: "block" }>) =>
    studio().openDialog({ kind: "connect", from: { node, port, side: kind } });

  const onKey = (event: KeyboardEvent, line: Line) => {
    if (event.target !== event.currentTarget) return; // typing in the field
    if (event.ctrlKey || event.metaKey || event.altKey) return; // a key of the page
    const at = lines.findIndex((one) => one.id === line.id);
    const go = (place: number) => {
      const next = lines[place];
      if (next) focus(next.id);
    };
    switch (event.key) {
      case "ArrowDown":
        go(at + 1);
        break;
      case "ArrowUp":
        go(at - 1);
        break;
      case "Home":
        go(0);
        break;
      case "End":
        go(lines.length - 1);
        break;
      case "ArrowRight":
        if (line.kind === "block" && !line.open) toggle(line.node, true);
        else go(at + 1);
        break;
      case "ArrowLeft":
        if (line.kind === "block") toggle(line.node, false);
        else focus(line.node);
        break;
      case "Enter":
      case " ":
        if (line.kind === "block") studio().goTo(line.node);
        else if (line.kind === "output") connect(line);
        else setEditing(line.id);
        break;
      case "c":
        if (line.kind === "block") return;
        connect(line);
        break;
      case "r":
        void studio().runTo([line.node]);
        break;
      case "Delete":
        if (line.kind === "input") studio().disconnect(line.node, line.port);
        else if (line.kind === "block") {
          studio().select({ nodes: [line.node] });
          studio().removeSelection();
          go(at === 0 ? 1 : at - 1);
        }
        break;
      default:
        return;
    }
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <>
      <div className="outline scroll" role="tree" aria-label="Blocks of the page" ref={tree}>
        {lines.map((line) => (
          <div
            key={line.id}
            role="treeitem"
            aria-level={line.kind === "block" ? 1 : 2}
            aria-expanded={line.kind === "block" ? line.open : undefined}
            aria-selected={line.id === current}
            tabIndex={line.id === current ? 0 : -1}
            data-line={line.id}
            className={`line ${line.kind}`}
            onFocus={() => setActive(line.id)}
            onKeyDown={(event) => onKey(event, line)}
            onClick={() => {
              if (line.kind === "block") {
                studio().goTo(line.node);
                toggle(line.node, !line.open);
              } else if (line.kind === "input") setEditing(line.id);
            }}
          >
            {line.kind === "block" ? (
              <BlockLine node={line.node} />
            ) : line.kind === "output" ? (
              <span className="line-text">→ {line.port}</span>
            ) : editing === line.id ? (
              <LineField line={line} onDone={() => finish(line.id)} />
            ) : (
              <span className="line-text">
                {line.port}: <span className="line-value">{argumentText(line.argument)}</span>
              </span>
            )}
          </div>
        ))}
      </div>
      <p className="hint">
        Arrows move, → opens a block, Enter shows it or edits a value, C connects a port, R runs up to the block, Delete
        takes away.
      </p>
    </>
  );
}

function argumentText(argument: Argument | undefined): string {
  if (argument === undefined) return "not set";
  return isLink(argument) ? `from ${argument.from}` : literalText(argument);
}

function BlockLine({ node }: { node: string }) {
  const op = useStudio((s) => s.document.nodes[node]?.op ?? "");
  const title = useStudio((s) => s.ops.get(op)?.title ?? op);
  const state = useStudio((s) => nodeState(s, node));
  const problems = useStudio((s) => s.problemsOf.get(node)?.length ?? 0);
  const picked = useStudio((s) => s.selection.nodes.includes(node));
  return (
    <span className={`line-text${picked ? " picked" : ""}`}>
      <b>{node}</b> <span className="line-op">{title}</span>
      {problems > 0 && <span className="badge error">{counted(problems, "problem")}</span>}
      {!problems && state !== "idle" && <span className={`badge ${state}`}>{state}</span>}
    </span>
  );
}

function LineField({ line, onDone }: { line: Extract<Line, { kind: "input" }>; onDone(): void }) {
  const [text, setText] = useState(
    line.argument === undefined || isLink(line.argument) ? "" : literalText(line.argument),
  );
  const [wrong, setWrong] = useState("");
  const dtype = useStudio((s) => s.check?.nodes[line.node]?.inputs[line.port]?.dtype ?? "");
  const commit = () => {
    try {
      const literal = parseArgument(text, dtype);
      if (literal !== undefined || !isLink(line.argument))
        useStudio.getState().setLiteral(line.node, line.port, literal);
      onDone();
    } catch (problem) {
      setWrong(reason(problem));
    }
  };
  return (
    <span className="line-field">
      <input
        // biome-ignore lint/a11y/noAutofocus: the field is opened by the user to type in it
        autoFocus
        aria-label={`${line.port} of ${line.node}`}
        aria-invalid={Boolean(wrong)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit();
          if (event.key === "Escape") onDone();
          event.stopPropagation();
        }}
        onBlur={() => !wrong && onDone()}
      />
      {wrong && <span className="field-problem">{wrong}</span>}
    </span>
  );
}
