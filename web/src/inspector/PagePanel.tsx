import { setTitle } from "../page/edits";
import { splitSource } from "../page/links";
import { setExpected } from "../page/runs";
import { nodeState, useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";
import { literalText } from "../values/parse";
import { Facts } from "./Facts";
import { Field } from "./Field";
import { NodeLink } from "./NodeLink";
import { Runs } from "./Runs";

/** The page as a whole: shown while nothing is selected. */
export function PagePanel() {
  const document = useStudio((state) => state.document);
  const problems = useStudio((state) => state.check?.problems.length ?? 0);
  const own = useStudio((state) => state.problemsOf.get(""));
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
      <Runs />
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
            <IconButton
              className="inspector-icon"
              icon="close"
              label={`Expect nothing of ${name}`}
              title="Expect nothing of it"
              onClick={() => useStudio.getState().edit(`expect nothing of ${name}`, setExpected(name, undefined))}
            />
          </div>
        ))}
      </section>
    </>
  );
}

/** Whether the last run gave what the page expects of an output. */
function Verdict({ name }: { name: string }) {
  const judged = useStudio((s) => s.judged[name]);
  const state = useStudio((s) => nodeState(s, splitSource(s.document.nodes, name)[0]));
  if (state === "stale") return <span className="inspector-muted">changed since the last run</span>;
  if (judged)
    return <span className="inspector-wrong">{`${judged.name} is ${judged.got}, not ${judged.expected}`}</span>;
  return judged === null ? <span className="inspector-good">holds</span> : null;
}
