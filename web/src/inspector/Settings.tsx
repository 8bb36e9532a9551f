import type { AttrInfo, Entry, OpInfo, Problem } from "../api/types";
import { has } from "../page/links";
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { attrText, parseAttr } from "./attrs";
import { Field } from "./Field";

type Props = { node: string; entry: Entry; op: OpInfo | undefined; dtype: string; problems: readonly Problem[] };

/** Every setting of a block, also those at their default. */
export function Settings({ node, entry, op, dtype, problems }: Props) {
  const known = op?.attrs ?? [];
  const others = Object.keys(entry.attrs ?? {}).filter((name) => !known.some((info) => info.name === name));
  if (known.length + others.length === 0) return null;
  const problemOf = (name: string) =>
    problems
      .filter((one) => one.port === name)
      .map((one) => one.text)
      .join(" ");
  return (
    <section aria-label="Settings">
      <h3>Settings</h3>
      {known.map((info) => (
        <Setting
          key={info.name}
          node={node}
          info={info}
          given={has(entry.attrs, info.name)}
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

type SettingProps = { node: string; info: AttrInfo; given: boolean; value: unknown; dtype: string; problem: string };

function Setting({ node, info, given, value, dtype, problem }: SettingProps) {
  const { setAttr, openDialog } = useStudio.getState();
  const shown = given ? value : info.default;
  const name = `${info.name} of ${node}`;
  const set = (next: unknown) => {
    const isDefault = !info.required && JSON.stringify(next) === JSON.stringify(info.default);
    setAttr(node, info.name, isDefault ? undefined : next);
  };
  const reset = given && !info.required && (
    <button
      type="button"
      className="inspector-icon"
      aria-label={`Set ${info.name} back to its default`}
      title={`Back to the default, ${attrText(info.kind, info.default) || "none"}`}
      onClick={() => setAttr(node, info.name, undefined)}
    >
      <Icon name="undo" />
    </button>
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
      text={attrText(info.kind, shown)}
      problem={problem}
      onText={(text) => {
        const cleared = text.trim() === "" && info.kind !== "string";
        if (cleared) setAttr(node, info.name, undefined);
        else set(parseAttr(info.kind, text, dtype));
      }}
    >
      {info.kind === "tensor" && (
        <button
          type="button"
          className="inspector-icon"
          aria-label={`Edit ${info.name} as a grid`}
          title="Edit as a grid"
          onClick={() => openDialog({ kind: "grid", target: { node, kind: "attr", name: info.name } })}
        >
          <Icon name="grid" />
        </button>
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
