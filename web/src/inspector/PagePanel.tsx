import { setTitle } from "../page/edits";
import { splitSource } from "../page/links";
import { nodeState, useStudio } from "../store";
import { literalText } from "../values/parse";
import { Facts } from "./Facts";
import { Field } from "./Field";
import { NodeLink } from "./NodeLink";

/** The page as a whole: shown while nothing is selected. */
export function PagePanel() {
  const document = useStudio((state) => state.document);
  const problems = useStudio((state) => state.check?.problems.length ?? 0);
  const own = useStudio((state) => state.problemsOf.get(""));
  const runs = Object.entries(document.runs ?? {});
  const expected = Object.entries(document.expect ?? {});
  const groups = Object.keys(document.groups ?? {}).length;
  return (
    <>
      <header className="inspector-head">
        <Field
          label="page"
          name="Title of the page"
          text={document.title ?? ""}
          placeholder="untitled"
          onText={(title) => useStudio.getState().edit("set the title", setTitle(title.trim()), "title")}
        />
      </header>
      <Facts
        facts={[
          ["blocks", Object.keys(document.nodes).length],
          ...(groups > 0 ? [["groups", groups] as const] : []),
          ["problems", problems || "none"],
        ]}
      />
      {own && own.length > 0 && (
        <ul className="inspector-problems" aria-label="Problems of the page">
          {own.map((problem) => (
            <li key={problem.text}>{problem.text}</li>
          ))}
        </ul>
      )}
      <section aria-label="Runs">
        <h3>Runs</h3>
        {runs.length === 0 && (
          <p className="inspector-muted">A run gives the value of every block that no other reads.</p>
        )}
        {runs.map(([name, run]) => (
          <div key={name} className="inspector-run">
            <strong>{name}</strong>
            <span className="inspector-muted">{runText(run.mode, run.steps, run.seed)}</span>
            <span className="inspector-names">
              {run.fetch?.map((name) => (
                <NodeLink key={name} source={name} />
              ))}
            </span>
          </div>
        ))}
      </section>
      <section aria-label="Expectations">
        <h3>Expected results</h3>
        {expected.length === 0 && <p className="inspector-muted">None are kept in this page.</p>}
        {expected.map(([name, literal]) => (
          <div key={name} className="inspector-expect">
            <span className="inspector-names">
              <NodeLink source={name} />
            </span>
            <code title={literalText(literal)}>{literalText(literal)}</code>
            <Verdict name={name} />
          </div>
        ))}
      </section>
    </>
  );
}

function runText(mode: string | undefined, steps: number | undefined, seed: number | undefined): string {
  const parts = [mode === "loop" ? `loops ${steps ?? 1} times` : mode === "step" ? "step by step" : "once"];
  if (seed !== undefined) parts.push(`seed ${seed}`);
  return parts.join(", ");
}

/** Whether the last run gave what the page expects of an output. */
function Verdict({ name }: { name: string }) {
  const wrong = useStudio((s) => s.run.mismatches.find((one) => one.name === name || one.name.startsWith(`${name}[`)));
  const state = useStudio((s) => nodeState(s, splitSource(s.document.nodes, name)[0]));
  if (state === "stale") return <span className="inspector-muted">changed since the last run</span>;
  if (wrong) return <span className="inspector-wrong">{`${wrong.name} is ${wrong.got}, not ${wrong.expected}`}</span>;
  return state === "done" || state === "cached" ? <span className="inspector-good">holds</span> : null;
}
