import type { AttrInfo, Entry, OpInfo, Problem } from "../api/types";
import { GridButton } from "../dialogs/GridButton";
import { has } from "../page/links";
import { settingOf } from "../store/setting";
import { IconButton } from "../toolbar/Icon";
import { attrText } from "../values/attrs";
import { Field, problemAt } from "./Field";

type Props = { node: string; entry: Entry; op: OpInfo | undefined; dtype: string; problems: readonly Problem[] };

/** Every setting of a block, also those at their default. */
export function Settings({ node, entry, op, dtype, problems }: Props) {
  const known = op?.attrs ?? [];
  const others = Object.keys(entry.attrs ?? {}).filter((name) => !known.some((info) => info.name === name));
  if (known.length + others.length === 0) return null;
  const problemOf = (name: string) => problemAt(problems, name);
  return (
    <section aria-label="Settings">
      <h3>Settings</h3>
      {known.map((info) => (
        <Setting
          key={info.name}
          node={node}
          info={info}
          value={has(entry.attrs, info.name) ? entry.attrs?.[info.name] : undefined}
          dtype={dtype}
          problem={problemOf(info.name)}
        />
      ))}
      {others.map((name) => (
        <div key={name} className="inspector-field">
          <span className="inspector-label">{name}</span>
          <code className="inspector-raw">{JSON.stringify(entry.attrs?.[name])}</code>
          <span className="inspector-wrong">
            {problemOf(name) || "is not a setting of this op; it is kept as it is"}
          </span>
        </div>
      ))}
    </section>
  );
}

type SettingProps = { node: string; info: AttrInfo; value: unknown; dtype: string; problem: string };

function Setting({ node, info, value, dtype, problem }: SettingProps) {
  const { shown, text, set, reset: setBack, onText } = settingOf(node, info.name, info, value, dtype);
  const given = value !== undefined;
  const name = `${info.name} of ${node}`;
  const reset = given && !info.required && (
    <IconButton
      className="inspector-icon"
      icon="undo"
      label={`Set ${info.name} back to its default`}
      title={`Back to the default, ${attrText(info.kind, info.default) || "none"}`}
      onClick={setBack}
    />
  );
  const label = info.required ? `${info.name} *` : info.name;
  if (info.kind === "bool" || info.allowed?.length) {
    return (
      <div className="inspector-field" data-given={given || undefined}>
        <label htmlFor={`setting-${node}-${info.name}`} title={info.text}>
          {label}
        </label>
        <span className="inspector-input">
          {info.kind === "bool" ? (
            <input
              type="checkbox"
              id={`setting-${node}-${info.name}`}
              aria-label={name}
              checked={shown === true}
              onChange={(event) => set(event.target.checked)}
            />
          ) : (
            <Choice
              id={`setting-${node}-${info.name}`}
              name={name}
              shown={shown}
              choices={info.allowed ?? []}
              onChoice={set}
            />
          )}
          {reset}
        </span>
        {problem && <span className="inspector-wrong">{problem}</span>}
      </div>
    );
  }
  return (
    <Field
      label={label}
      name={name}
      hint={[info.text, `kind: ${info.kind}`].filter(Boolean).join("\n")}
      text={text}
      problem={problem}
      onText={onText}
    >
      {info.kind === "tensor" && (
        <GridButton className="inspector-icon" what={info.name} target={{ node, kind: "attr", name: info.name }} />
      )}
      {reset}
    </Field>
  );
}

type ChoiceProps = { id: string; name: string; shown: unknown; choices: string[]; onChoice: (choice: string) => void };

function Choice({ id, name, shown, choices, onChoice }: ChoiceProps) {
  const now = typeof shown === "string" ? shown : "";
  return (
    <select id={id} aria-label={name} value={now} onChange={(event) => onChoice(event.target.value)}>
      {!choices.includes(now) && <option value={now}>{now || "choose"}</option>}
      {choices.map((choice) => (
        <option key={choice}>{choice}</option>
      ))}
    </select>
  );
}
