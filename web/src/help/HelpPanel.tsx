import { useEffect, useRef, useState } from "react";
import { api, reason } from "../api/client";
import type { Help, HelpBlock } from "../api/types";
import { IconButton } from "../toolbar/Icon";
import { dedented, piecesOf } from "./marks";
import "./help.css";

type Props = {
  op: string;
  onClose: () => void;
  /** Drops a block with the op's example onto the page. */
  onTry: () => void;
};

const known = new Map<string, Help>(); // an op's page does not change while the studio runs

function useHelp(op: string): { help: Help | null; error: string } {
  const [answer, setAnswer] = useState<{ op: string; help: Help | null; error: string }>({
    op: "",
    help: null,
    error: "",
  });
  useEffect(() => {
    if (known.has(op)) return;
    let wanted = true;
    api.help(op).then(
      (help) => {
        known.set(op, help);
        if (wanted) setAnswer({ op, help, error: "" });
      },
      (problem) => wanted && setAnswer({ op, help: null, error: reason(problem) }),
    );
    return () => {
      wanted = false;
    };
  }, [op]);
  const help = known.get(op) ?? null;
  return help ? { help, error: "" } : { help: null, error: answer.op === op ? answer.error : "" };
}

/** An op's page: what it computes, its inputs, settings and outputs, and an example. */
export function HelpPanel({ op, onClose, onTry }: Props) {
  const { help, error } = useHelp(op);
  const top = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another op begins at its top
  useEffect(() => {
    top.current?.scrollTo?.({ top: 0 });
  }, [op]);
  const [first, ...rest] = help?.blocks ?? [];
  const titled = first?.kind === "heading";
  return (
    <article
      ref={top}
      className="help"
      aria-label={`Help on ${op}`}
      aria-busy={!help && !error}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a text that scrolls must be reachable by keyboard
      tabIndex={0}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <header className="help-head">
        <h2>{titled ? first.text : op}</h2>
        <button type="button" className="help-try" onClick={onTry} title="Put this block with its example on the page">
          Try it
        </button>
        <IconButton className="help-close" icon="close" label="Close help" title="Close (Esc)" onClick={onClose} />
      </header>
      {error && <p className="help-wrong">{error}</p>}
      {!help && !error && <p className="help-muted">One moment.</p>}
      {(titled ? rest : (help?.blocks ?? [])).map((block, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a page's blocks stay in their order
        <Block key={at} block={block} />
      ))}
    </article>
  );
}

function Block({ block }: { block: HelpBlock }) {
  switch (block.kind) {
    case "heading":
      return <h3>{block.text}</h3>;
    case "text":
      return (
        <p>
          <Text text={block.text} />
        </p>
      );
    case "formula":
      return <pre className="help-formula">{dedented(block.text)}</pre>;
    case "code":
      return <Code text={block.text} />;
    case "table":
      return <Table head={block.head} rows={block.rows} />;
    default:
      return null; // a kind that a newer server knows
  }
}

function Text({ text }: { text: string }) {
  return piecesOf(text).map((piece) =>
    piece.code ? <code key={piece.at}>{piece.text}</code> : <span key={piece.at}>{piece.text}</span>,
  );
}

function Code({ text }: { text: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = () => {
    navigator.clipboard.writeText(text).then(
      () => setSaid("Copied"),
      (problem) => setSaid(reason(problem)),
    );
  };
  return (
    <div className="help-code">
      <pre>{text}</pre>
      <button type="button" onClick={copy} onBlur={() => setSaid("Copy")}>
        {said}
      </button>
    </div>
  );
}

/** A table; one whose last column has no name explains, and is set as a list, for which a narrow panel has room. */
function Table({ head, rows }: { head: string[]; rows: string[][] }) {
  const last = head.length - 1;
  if (head[last] === "") {
    return (
      <dl className="help-items">
        {rows.map((row) => (
          <Item key={row.join("\n")} head={head} row={row} />
        ))}
      </dl>
    );
  }
  return (
    <table className="help-table">
      <thead>
        <tr>
          {head.map((name) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={row.join("\n")}>
            {row.map((text, column) => (
              <td key={head[column]}>
                <Text text={text} />
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Item({ head, row }: { head: string[]; row: string[] }) {
  const [name, ...rest] = row;
  const meaning = rest.pop();
  return (
    <>
      <dt>{name}</dt>
      {meaning && (
        <dd className="help-meaning">
          <Text text={meaning} />
        </dd>
      )}
      {rest.map((text, at) =>
        text === "" ? null : (
          <dd key={head[at + 1]}>
            {head[at + 1]} <code>{text}</code>
          </dd>
        ),
      )}
    </>
  );
}
