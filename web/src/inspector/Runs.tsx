// The page's runs: made, renamed and edited here. What a run does not fetch or need does not run.
import type { Run } from "../api/types";
import { splitSource } from "../page/links";
import { addRun, removeRun, renameRun, setFeed, setRun } from "../page/runs";
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import { literalText, parseArgument } from "../values/parse";
import { Field } from "./Field";
import { NodeLink } from "./NodeLink";

const edit = (...change: Parameters<ReturnType<typeof useStudio.getState>["edit"]>) =>
  useStudio.getState().edit(...change);

export function Runs() {
  const runs = useStudio((s) => s.document.runs);
  const entries = Object.entries(runs ?? {});
  const add = () => {
    const { document, selection } = useStudio.getState();
    const chosen = selection.nodes.length ? selection.nodes : Object.keys(document.nodes).slice(-1);
    edit("add a run", addRun([...chosen]));
  };
  return (
    <section aria-label="Runs">
      <h3>Runs</h3>
      {entries.length === 0 && (
        <p className="inspector-muted">Without any, Run gives the value of every block that no other reads.</p>
      )}
      {entries.map(([name, run]) => (
        <OneRun key={name} name={name} run={run} />
      ))}
      <button type="button" className="inspector-small" onClick={add}>
        Add a run
      </button>
    </section>
  );
}

function OneRun({ name, run }: { name: string; run: Run }) {
  const loops = run.mode === "loop";
  const change = (part: Partial<Run>) => edit(`edit the run ${name}`, setRun(name, part));
  return (
    <fieldset className="inspector-run" aria-label={`Run ${name}`}>
      <Field
        label="run"
        name={`Name of the run ${name}`}
        text={name}
        onText={(text) => {
          if (!text.trim()) throw new Error("A run needs a name.");
          if (useStudio.getState().document.runs?.[text.trim()]) throw new Error("There is a run of this name.");
          edit(`rename the run ${name}`, renameRun(name, text.trim()));
        }}
      >
        <IconButton
          className="inspector-icon"
          icon="trash"
          label={`Delete the run ${name}`}
          title="Delete this run"
          onClick={() => edit(`delete the run ${name}`, removeRun(name))}
        />
      </Field>
      <label className="inspector-check">
        <input
          type="checkbox"
          checked={loops}
          onChange={() => change(loops ? { mode: undefined, steps: undefined } : { mode: "loop", steps: 100 })}
        />
        in a loop
      </label>
      {loops && (
        <Field
          label="rounds"
          name={`Rounds of ${name}`}
          text={String(run.steps ?? 1)}
          onText={(text) => change({ steps: whole(text, 1) })}
        />
      )}
      <Names label="fetches" run={name} names={run.fetch ?? []} onNames={(fetch) => change({ fetch })} />
      <Names
        label="also runs"
        run={name}
        names={run.only ?? []}
        onNames={(only) => change({ only: only.length ? only : undefined })}
      />
      <Feeds name={name} run={run} />
      <Field
        label="seed"
        name={`Seed of ${name}`}
        text={run.seed === undefined ? "" : String(run.seed)}
        placeholder="none"
        onText={(text) => change({ seed: text.trim() ? whole(text, 0) : undefined })}
      />
      <button type="button" className="inspector-small" onClick={() => void useStudio.getState().runNamed(name)}>
        Run {name}
      </button>
    </fieldset>
  );
}

function whole(text: string, least: number): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < least || number > 1e9) {
    throw new Error(`A whole number from ${least} to 1000000000.`);
  }
  return number;
}

type NamesProps = { label: string; run: string; names: string[]; onNames(names: string[]): void };

function Names({ label, run, names, onNames }: NamesProps) {
  const nodes = useStudio((s) => s.document.nodes);
  return (
    <div className="inspector-field">
      <span className="inspector-label">{label}</span>
      <span className="inspector-names">
        {names.map((name) => (
          <span key={name} className="inspector-chip">
            <NodeLink source={name} />
            <IconButton
              className="inspector-icon"
              icon="close"
              label={`${name} out of what ${run} ${label}`}
              title="Take it out"
              onClick={() => onNames(names.filter((one) => one !== name))}
            />
          </span>
        ))}
        <select
          aria-label={`Add to what ${run} ${label}`}
          value=""
          onChange={(event) => event.target.value && onNames([...names, event.target.value])}
        >
          <option value="">add…</option>
          {Object.keys(nodes)
            .filter((node) => !names.includes(node))
            .map((node) => (
              <option key={node}>{node}</option>
            ))}
        </select>
      </span>
    </div>
  );
}

function Feeds({ name, run }: { name: string; run: Run }) {
  const nodes = useStudio((s) => s.document.nodes);
  const ops = useStudio((s) => s.ops);
  const check = useStudio((s) => s.check?.nodes);
  const fed = Object.entries(run.feed ?? {});
  const open = Object.keys(nodes).filter((node) => ops.get(nodes[node]?.op ?? "")?.fed && !(node in (run.feed ?? {})));
  const put = (node: string, text: string) => {
    const dtype = check?.[splitSource(nodes, node)[0]]?.outputs[0]?.dtype ?? "";
    edit(`feed ${node}`, setFeed(name, node, text.trim() ? parseArgument(text, dtype) : undefined));
  };
  return (
    <>
      {[
        ...fed.map(([node, value]) => [node, literalText(value)] as const),
        ...open.map((node) => [node, ""] as const),
      ].map(([node, text]) => (
        <Field
          key={node}
          label={`${node} :=`}
          name={`What ${name} feeds ${node}`}
          text={text}
          placeholder="must be fed"
          onText={(typed) => put(node, typed)}
        />
      ))}
    </>
  );
}
