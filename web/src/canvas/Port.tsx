// A dot with its label: wired, or with a literal typed right into it.
import { Handle, Position } from "@xyflow/react";
import { type KeyboardEvent, memo, useEffect, useRef } from "react";
import type { Argument, Slot } from "../api/types";
import { GridButton } from "../dialogs/GridButton";
import { inputOf, isLink } from "../page/links";
import { useStudio } from "../store";
import type { PortPlace } from "../store/types";
import { IconButton } from "../toolbar/Icon";
import { literalText, parseArgument } from "../values/parse";
import { familyOf, slotText } from "./dtype";
import { TypedField } from "./TypedField";

/** Click-click wiring: the first click picks a wire up, the second puts it down where it fits. */
async function press(place: PortPlace, way: "click" | "keys"): Promise<void> {
  const studio = useStudio.getState();
  const held = studio.wiring;
  if (!held || held.side === place.side) {
    if (held && held.node === place.node && held.port === place.port) return studio.putDown();
    if (way === "keys") studio.openDialog({ kind: "connect", from: place });
    return studio.pickUp(place, way);
  }
  if (await studio.join(held, place)) studio.putDown();
}

function useFit(place: PortPlace): { held: boolean; own: boolean; why: string } {
  const own = useStudio(
    (s) => s.wiring?.node === place.node && s.wiring.port === place.port && s.wiring.side === place.side,
  );
  const held = useStudio((s) => s.wiring !== null);
  const why = useStudio((s) => (s.wiring && !own ? s.refusal(place) : ""));
  return { held, own, why };
}

function hint(dot: HTMLElement, why: string): void {
  const box = dot.getBoundingClientRect();
  window.dispatchEvent(
    new CustomEvent("wire-hint", { detail: why ? { text: why, x: box.left, y: box.bottom + 6 } : null }),
  );
}

type DotProps = { place: PortPlace; slot: Slot | undefined; label: string; wired: boolean; focusable: boolean };

const Dot = memo(function Dot({ place, slot, label, wired, focusable }: DotProps) {
  const { held, own, why } = useFit(place);
  // What fits may be known only after the pointer has come to the dot.
  const pointed = useRef<HTMLElement | null>(null);
  useEffect(() => {
    if (pointed.current) hint(pointed.current, why);
  }, [why]);
  const input = place.side === "input";
  const names = [
    "dot",
    familyOf(slot?.dtype),
    wired ? "wired" : "",
    own ? "held" : "",
    held && !own ? (why ? "unfit" : "fit") : "",
  ];
  return (
    <Handle
      type={input ? "target" : "source"}
      position={input ? Position.Left : Position.Right}
      id={place.port}
      className={names.filter(Boolean).join(" ")}
      data-port={`${place.node}.${place.port}`}
      data-side={place.side}
      role="button"
      tabIndex={focusable ? 0 : -1}
      aria-label={`${input ? "Input" : "Output"} ${label} of ${place.node}, ${slotText(slot?.dtype, slot?.shape)}`}
      title={why || `${label}: ${slotText(slot?.dtype, slot?.shape)}`}
      onClick={(event) => {
        event.stopPropagation();
        void press(place, "click");
      }}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        event.stopPropagation();
        void press(place, useStudio.getState().wiring ? "click" : "keys");
      }}
      onPointerEnter={(event) => {
        pointed.current = event.currentTarget;
        hint(event.currentTarget, why);
      }}
      onPointerLeave={(event) => {
        pointed.current = null;
        hint(event.currentTarget, "");
      }}
    />
  );
});

type InputProps = {
  node: string;
  port: string;
  label: string;
  dtype: string;
  text: string;
  argument: Argument | undefined;
  slot: Slot | undefined;
  problem: string;
  selected: boolean;
  adder: boolean; // the empty place at the end of a list
  removable: boolean;
};

export const InputPort = memo(function InputPort(props: InputProps) {
  const { node, port, label, argument, slot, problem, adder } = props;
  const wired = isLink(argument);
  const named = inputOf(argument);
  const place: PortPlace = { node, port, side: "input" };
  return (
    <div className={`port input${problem ? " bad" : ""}${wired ? " wired" : ""}${adder ? " adder" : ""}`}>
      <Dot place={place} slot={slot} label={label} wired={wired} focusable={props.selected} />
      <span className="port-name" title={problem || props.text || label}>
        {label}
      </span>
      {named !== null && <NamedInput named={named} />}
      {!wired && !adder && named === null && <LiteralField {...props} />}
      {adder && (
        <IconButton
          className="ghost tiny nodrag"
          icon="plus"
          label={`Add an item to ${label} of ${node}`}
          title={`Add an item to ${label}`}
          onClick={() => useStudio.getState().setLiteral(node, port, 0)}
        />
      )}
      {props.removable && (
        <IconButton
          className="ghost tiny nodrag item-remove"
          icon="close"
          label={`Remove ${port} of ${node}`}
          title="Remove this item"
          onClick={() => useStudio.getState().disconnect(node, port)}
        />
      )}
    </div>
  );
});

/** What a gradient is by, where that is a value in a port. */
function NamedInput({ named }: { named: string }) {
  const node = named.slice(0, named.lastIndexOf("."));
  return (
    <button
      type="button"
      className="port-named nodrag"
      title={`By what stands in ${named}`}
      onClick={() => useStudio.getState().goTo(node)}
    >
      {named}
    </button>
  );
}

function LiteralField({ node, port, label, dtype, argument, slot, problem }: InputProps) {
  return (
    <TypedField
      label={`${label} of ${node}`}
      shown={argument === undefined ? "" : literalText(argument)}
      problem={problem}
      placeholder="value or wire"
      onText={(text) => useStudio.getState().setLiteral(node, port, parseArgument(text, slot?.dtype ?? dtype, dtype))}
    >
      <GridButton
        className="ghost tiny grid-button"
        what={`${label} of ${node}`}
        target={{ node, kind: "port", name: port }}
      />
    </TypedField>
  );
}

type OutputProps = { node: string; port: string; slot: Slot | undefined; selected: boolean };

export const OutputPort = memo(function OutputPort({ node, port, slot, selected }: OutputProps) {
  return (
    <div className="port output">
      <span className="port-name" title={slotText(slot?.dtype, slot?.shape)}>
        {port}
      </span>
      <Dot place={{ node, port, side: "output" }} slot={slot} label={port} wired focusable={selected} />
    </div>
  );
});
