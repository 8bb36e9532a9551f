// A setting of a block: typed or chosen, never wired.
import { memo } from "react";
import type { AttrInfo } from "../api/types";
import { GridButton } from "../dialogs/GridButton";
import { settingOf } from "../store/setting";
import { TypedField } from "./TypedField";

type Props = { node: string; name: string; info: AttrInfo | undefined; value: unknown; dtype: string; problem: string };

export const Setting = memo(function Setting({ node, name, info, value, dtype, problem }: Props) {
  const { shown, text, set, onText } = settingOf(node, name, info, value, dtype);
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
        <TypedField label={label} shown={text} problem={problem} onText={onText}>
          {info?.kind === "tensor" && (
            <GridButton className="ghost tiny grid-button" what={label} target={{ node, kind: "attr", name }} />
          )}
        </TypedField>
      )}
    </div>
  );
});
