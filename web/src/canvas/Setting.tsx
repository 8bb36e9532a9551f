// A setting of a block: typed or chosen, never wired.
import { memo } from "react";
import type { AttrInfo } from "../api/types";
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { literalText, parseLiteral } from "../values/parse";
import { TypedField } from "./TypedField";

type Props = { node: string; name: string; info: AttrInfo | undefined; value: unknown; dtype: string; problem: string };

export const Setting = memo(function Setting(props: Props) {
  const { node, name, info, value, problem } = props;
  const shown = value === undefined ? info?.default : value;
  const set = (next: unknown) =>
    useStudio.getState().setAttr(node, name, next === info?.default && !info?.required ? undefined : next);
  const label = `${name} of ${node}`;
  const choices = info?.allowed ?? null;
  return (
    <div className={`setting${problem ? " bad" : ""}`} title={problem || info?.text || name}>
      <span className="setting-name">{name}</span>
      {info?.kind === "bool" ? (
        <input
          type="checkbox"
          className="nodrag"
          aria-label={label}
          checked={shown === true}
          onChange={(event) => set(event.target.checked)}
        />
      ) : choices?.length ? (
        <select
          className="nodrag"
          aria-label={label}
          value={typeof shown === "string" ? shown : ""}
          onChange={(event) => set(event.target.value)}
        >
          {!choices.includes(String(shown)) && (
            <option value="">{shown === undefined ? "choose" : String(shown)}</option>
          )}
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <SettingText {...props} shown={shown} set={set} />
      )}
    </div>
  );
});

function textOf(kind: string | undefined, value: unknown): string {
  if (value === undefined || value === null) return "";
  if (kind === "string" || kind === "type") return typeof value === "string" ? value : JSON.stringify(value);
  return kind === "tensor" ? literalText(value) : typeof value === "string" ? value : JSON.stringify(value);
}

/** What a text means for an attribute of a kind; throws a sentence when it means nothing. */
export function parseSetting(kind: string | undefined, text: string, dtype: string): unknown {
  const typed = text.trim();
  if (kind === "string" || kind === "type") return text;
  if (typed === "") return undefined;
  if (kind === "int") {
    if (!/^[+-]?\d+$/.test(typed)) throw new Error("A whole number is wanted.");
    const number = Number(typed);
    return Number.isSafeInteger(number) ? number : typed;
  }
  if (kind === "float") {
    if (/^[+-]?(nan|inf)$/i.test(typed)) return typed.toLowerCase().replace("+", "");
    const number = Number(typed);
    if (Number.isNaN(number)) throw new Error("A number is wanted.");
    return number;
  }
  if (kind === "tensor") return parseLiteral(typed, dtype);
  try {
    return JSON.parse(typed);
  } catch {
    if (kind === "ints" || kind === "shape") {
      const parts = typed.split(/[\s,]+/).map((part) => (part === "?" ? null : Number(part)));
      if (parts.some((part) => part !== null && !Number.isInteger(part)))
        throw new Error("Whole numbers are wanted: 2, 3");
      return parts;
    }
    return text;
  }
}

function SettingText({
  node,
  name,
  info,
  dtype,
  shown,
  set,
  problem,
}: Props & { shown: unknown; set(next: unknown): void }) {
  return (
    <TypedField
      label={`${name} of ${node}`}
      shown={textOf(info?.kind, shown)}
      problem={problem}
      onText={(text) => set(parseSetting(info?.kind, text, dtype))}
    >
      {info?.kind === "tensor" && (
        <button
          type="button"
          className="ghost tiny grid-button"
          title="Edit as a grid"
          aria-label={`Edit ${name} of ${node} as a grid`}
          onClick={() => useStudio.getState().openDialog({ kind: "grid", target: { node, kind: "attr", name } })}
        >
          <Icon name="grid" />
        </button>
      )}
    </TypedField>
  );
}
