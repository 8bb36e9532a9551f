import type { Argument, CheckedNode, Entry, InputInfo, Link, OpInfo, Problem, Slot } from "../api/types";
import { GridButton } from "../dialogs/GridButton";
import { argumentAt, has, inputOf, isLink } from "../page/links";
import { hintOf, onlyDtype } from "../page/ports";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import { shapeText } from "../values/cells";
import { dtypeClass } from "../values/dtypes";
import { literalText, parseArgument } from "../values/parse";
import { Field, problemAt } from "./Field";
import { NodeLink } from "./NodeLink";

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
          dtype={checked?.inputs[port]?.dtype || onlyDtype(op, info)}
          problem={problemAt(problems, port)}
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
  const hint = hintOf(info);
  const named = inputOf(argument);
  const remove = item && (
    <IconButton
      className="inspector-icon"
      icon="close"
      label={`Remove ${port}`}
      title="Remove this item"
      onClick={() => studio().disconnect(node, port)}
    />
  );
  return (
    <div className="inspector-port">
      {isLink(argument) || named !== null ? (
        <div className="inspector-field">
          <span className="inspector-label" title={hint}>
            {port}
          </span>
          <span className="inspector-input">
            <NodeLink source={named ?? String((argument as Link).from)} isInput />
            <IconButton
              className="inspector-icon"
              icon="close"
              label={`Disconnect ${port}`}
              title="Disconnect"
              onClick={() => studio().disconnect(node, port)}
            />
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
          onText={(text) => studio().setLiteral(node, port, parseArgument(text, dtype))}
        >
          <GridButton className="inspector-icon" what={port} target={{ node, kind: "port", name: port }} />
          {remove}
        </Field>
      )}
      <SlotText slot={slot} />
    </div>
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
