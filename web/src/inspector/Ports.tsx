import type { Argument, CheckedNode, Entry, InputInfo, OpInfo, Problem, Slot } from "../api/types";
import { argumentAt, has, isLink } from "../page/links";
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { shapeText } from "../values/cells";
import { dtypeClass } from "../values/dtypes";
import { literalText, parseLiteral } from "../values/parse";
import { Field } from "./Field";

type Props = {
  node: string;
  entry: Entry;
  op: OpInfo | undefined;
  checked: CheckedNode | undefined;
  problems: readonly Problem[];
};
type PortPlace = { port: string; info: InputInfo | undefined; item: boolean };

/** Every input: where it comes from, or the literal that it holds. */
export function Ports({ node, entry, op, checked, problems }: Props) {
  const places = placesOf(entry, op);
  if (places.length === 0 && !op?.inputs.length) return null;
  return (
    <section aria-label="Inputs">
      <h3>Inputs</h3>
      {places.map(({ port, info, item }) => (
        <Port
          key={port}
          node={node}
          port={port}
          info={info}
          item={item}
          argument={argumentAt(entry, port)}
          slot={checked?.inputs[port]}
          dtype={literalDtypeOf(checked?.inputs[port], info, op)}
          problem={problems
            .filter((one) => one.port === port)
            .map((one) => one.text)
            .join(" ")}
        />
      ))}
      {op?.inputs
        .filter((info) => info.many)
        .map((info) => {
          const value = has(entry.in, info.name) ? entry.in?.[info.name] : undefined;
          const count = Array.isArray(value) ? value.length : 0;
          const add = () => useStudio.getState().setLiteral(node, `${info.name}[${count}]`, 0);
          return (
            <button key={info.name} type="button" className="inspector-small" onClick={add}>
              Add an item to {info.name}
            </button>
          );
        })}
    </section>
  );
}

/** The inputs of an op, lists item by item; for an op that is not known, those that the page gives. */
function placesOf(entry: Entry, op: OpInfo | undefined): PortPlace[] {
  const names = op?.inputs.map((info) => info.name) ?? [];
  const others = Object.keys(entry.in ?? {}).filter((name) => !names.includes(name));
  return [...names, ...others].flatMap((name): PortPlace[] => {
    const info = op?.inputs.find((one) => one.name === name);
    const value = has(entry.in, name) ? entry.in?.[name] : undefined;
    const isList = info?.many ?? (Array.isArray(value) && value.some(isLink));
    if (!isList) return [{ port: name, info, item: false }];
    return Array.isArray(value) ? value.map((_, at) => ({ port: `${name}[${at}]`, info, item: true })) : [];
  });
}

function literalDtypeOf(slot: Slot | undefined, info: InputInfo | undefined, op: OpInfo | undefined): string {
  if (slot?.dtype) return slot.dtype;
  if (!info) return "";
  const choices = op && has(op.types, info.dtype) ? (op.types[info.dtype] ?? []) : [info.dtype];
  return choices.length === 1 ? (choices[0] as string) : "";
}

type PortProps = {
  node: string;
  port: string;
  info: InputInfo | undefined;
  item: boolean;
  argument: Argument | undefined;
  slot: Slot | undefined;
  dtype: string;
  problem: string;
};

function Port({ node, port, info, item, argument, slot, dtype, problem }: PortProps) {
  const studio = useStudio.getState;
  const hint = [info?.text, info?.dims ? `[${info.dims}]` : ""].filter(Boolean).join(" ");
  const remove = item && (
    <button
      type="button"
      className="inspector-icon"
      aria-label={`Remove ${port}`}
      title="Remove this item"
      onClick={() => studio().disconnect(node, port)}
    >
      <Icon name="close" />
    </button>
  );
  return (
    <div className="inspector-port">
      {isLink(argument) ? (
        <div className="inspector-field">
          <span className="inspector-label" title={hint}>
            {port}
          </span>
          <span className="inspector-input">
            <SourceLink from={String(argument.from)} />
            <button
              type="button"
              className="inspector-icon"
              aria-label={`Disconnect ${port}`}
              title="Disconnect"
              onClick={() => studio().disconnect(node, port)}
            >
              <Icon name="close" />
            </button>
          </span>
          {problem && <span className="inspector-wrong">{problem}</span>}
        </div>
      ) : (
        <Field
          label={port}
          name={`${port} of ${node}`}
          hint={hint}
          text={argument === undefined ? "" : literalText(argument, dtype)}
          placeholder="a value, or draw a wire"
          problem={problem}
          onText={(text) => studio().setLiteral(node, port, text.trim() === "" ? undefined : parseLiteral(text, dtype))}
        >
          <button
            type="button"
            className="inspector-icon"
            aria-label={`Edit ${port} as a grid`}
            title="Edit as a grid"
            onClick={() => studio().openDialog({ kind: "grid", target: { node, kind: "port", name: port } })}
          >
            <Icon name="grid" />
          </button>
          {remove}
        </Field>
      )}
      <SlotText slot={slot} />
    </div>
  );
}

function SourceLink({ from }: { from: string }) {
  const nodes = useStudio((state) => state.document.nodes);
  const name = has(nodes, from) ? from : from.slice(0, Math.max(0, from.lastIndexOf(".")));
  const go = () => {
    useStudio.getState().select({ nodes: [name] });
    useStudio.getState().bringIntoView([name]);
  };
  if (!has(nodes, name)) return <span className="inspector-wrong">{from} is not on the page</span>;
  return (
    <button type="button" className="inspector-link" onClick={go} title={`Go to ${name}`}>
      ← {from}
    </button>
  );
}

export function SlotText({ slot }: { slot: Slot | undefined }) {
  if (!slot || (slot.dtype === null && slot.shape === null)) return null;
  return (
    <span className="inspector-slot">
      <span className={dtypeClass(slot.dtype)}>{slot.dtype ?? "any dtype"}</span> {shapeText(slot.shape)}
    </span>
  );
}
