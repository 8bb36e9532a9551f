import type { Value } from "../api/types";
import { nameProblem, renameNode } from "../page/edits";
import { allWires } from "../page/links";
import { feedAll, leavesOf, setExpected } from "../page/runs";
import { isStale, useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { literalText, parseArgument } from "../values/parse";
import { Field } from "./Field";
import { Ports, SlotText } from "./Ports";
import { Settings } from "./Settings";
import { ValueView } from "./ValueView";

const NONE: never[] = [];

/** Everything about one block. */
export function NodePanel({ node }: { node: string }) {
  const entry = useStudio((state) => state.document.nodes[node]);
  const op = useStudio((state) => state.ops.get(state.document.nodes[node]?.op ?? ""));
  const checked = useStudio((state) => state.check?.nodes[node]);
  const problems = useStudio((state) => state.problemsOf.get(node)) ?? NONE;
  const result = useStudio((state) => state.results[node]);
  const stale = useStudio((state) => isStale(state, node));
  if (!entry) return null;
  const error = stale ? null : (result?.error ?? null);
  const settingDtype = typeof entry.attrs?.dtype === "string" ? entry.attrs.dtype : (checked?.outputs[0]?.dtype ?? "");
  return (
    <>
      <header className="inspector-head">
        <Field label="name" name={`Name of ${node}`} text={node} onText={(name) => rename(node, name.trim())} />
        <p className="inspector-op">
          {op ? (
            <button
              type="button"
              className="inspector-link"
              onClick={() => useStudio.getState().showHelp(op.name)}
              title="What it does (F1)"
            >
              {op.title} <Icon name="help" />
            </button>
          ) : (
            <span>{entry.op}: not known here; ports, values and links are kept</span>
          )}
        </p>
        {op && <p className="inspector-muted">{op.summary}</p>}
      </header>
      {(problems.length > 0 || error) && (
        <ul className="inspector-problems" aria-label="Problems">
          {problems.map((problem) => (
            <li key={`${problem.port} ${problem.text}`}>
              {problem.port && <strong>{problem.port}: </strong>}
              {problem.text}
            </li>
          ))}
          {error && problems.length === 0 && (
            <li>
              {error.port && <strong>{error.port}: </strong>}
              {error.text}
            </li>
          )}
        </ul>
      )}
      {op?.fed && <Fed node={node} dtype={settingDtype} />}
      <Ports node={node} entry={entry} op={op} checked={checked} problems={problems} />
      <Settings node={node} entry={entry} op={op} dtype={settingDtype} problems={problems} />
      {result && !error && result.outputs.length > 0 ? (
        <>
          {result.outputs.map((value) => (
            <ValueView key={value.name} node={node} value={value} stale={stale} />
          ))}
          {result.outputs.length === 1 && !stale && <Expect node={node} value={result.outputs[0] as Value} />}
        </>
      ) : (
        <section aria-label="Outputs">
          <h3>Outputs</h3>
          {checked?.outputs.map((slot) => (
            <div key={slot.name} className="inspector-field">
              <span className="inspector-label">{slot.name}</span>
              <SlotText slot={slot} />
            </div>
          ))}
          <button type="button" className="inspector-small" onClick={() => void useStudio.getState().runTo([node])}>
            Run up to here
          </button>
        </section>
      )}
    </>
  );
}

const MOST_EXPECTED = 64; // as many as stand in a page itself

/** Makes what is shown the result that the page expects: it is then its own test. */
function Expect({ node, value }: { node: string; value: Value }) {
  const size = value.shape.reduce((product, n) => product * n, 1);
  if (value.table === null || size > MOST_EXPECTED) return null;
  const tolerance = value.dtype.includes("float") ? { tolerance: 1e-6 } : {};
  const keep = () =>
    useStudio.getState().edit(`expect ${node}`, setExpected(node, { value: value.table, ...tolerance }));
  return (
    <button type="button" className="inspector-small" onClick={keep}>
      Expect this result from now on
    </button>
  );
}

/** What a block that only a run can fill is fed, in all runs at once. */
function Fed({ node, dtype }: { node: string; dtype: string }) {
  const runs = useStudio((state) => state.document.runs);
  const value = Object.values(runs ?? {}).find((run) => run.feed && node in run.feed)?.feed?.[node];
  const feed = (text: string) => {
    const { document, edit } = useStudio.getState();
    const read = new Set(allWires(document).map((wire) => wire.sourceNode));
    const literal = text.trim() ? parseArgument(text, dtype) : undefined;
    edit(`feed ${node}`, feedAll(node, literal, leavesOf(document, read)));
  };
  return (
    <section aria-label="Feed">
      <h3>Fed with</h3>
      <Field
        label="value"
        name={`What ${node} is fed`}
        text={value === undefined ? "" : literalText(value, dtype)}
        placeholder="a value, in every run"
        onText={feed}
      />
    </section>
  );
}

function rename(node: string, name: string): void {
  const { document, edit, select } = useStudio.getState();
  if (name === node) return;
  const problem = nameProblem(name, document, node);
  if (problem) throw new Error(problem);
  edit(`rename ${node}`, renameNode(node, name));
  select({ nodes: [name] });
}
