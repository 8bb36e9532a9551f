// The line at the bottom: problems, the last run, and whether the server is there.
import { timeText } from "../canvas/dtype";
import { useStudio } from "../store";
import { counted } from "../store/editing";
import type { Connection, RunState } from "../store/types";
import { Icon, IconButton } from "./Icon";

const CONNECTION: Record<Connection, string> = {
  connecting: "connecting",
  open: "connected",
  lost: "connection lost, trying again",
  ended: "this studio has ended: open the address of the new one",
};

export function StatusBar() {
  const check = useStudio((s) => s.check);
  const fresh = useStudio((s) => s.checkedDocument === s.document);
  const open = useStudio((s) => s.panel.problems);
  const run = useStudio((s) => s.run);
  const blocks = useStudio((s) => Object.keys(s.document.nodes).length);
  const picked = useStudio((s) => s.selection.nodes.length);
  const connection = useStudio((s) => s.connection);
  const session = useStudio((s) => s.session);
  const problems = check?.problems ?? [];
  return (
    <>
      {open && <Problems />}
      <footer className="status">
        <button
          type="button"
          className={`ghost${problems.length ? " bad" : ""}`}
          aria-expanded={open}
          title="List of problems (P)"
          onClick={() => useStudio.getState().setPanel({ problems: !open })}
        >
          {problems.length > 0 && <Icon name="warning" />}
          {check ? (problems.length ? counted(problems.length, "problem") : "No problems") : "Not checked yet"}
          {check && !fresh ? " …" : ""}
        </button>
        <span className="status-part">
          {counted(blocks, "block")}
          {picked ? `, ${picked} selected` : ""}
        </span>
        <RunText run={run} />
        <span className="grow" />
        {session?.readonly && <span className="status-part">read only</span>}
        <span className="status-part folder" title={session?.folder}>
          {session?.folder}
        </span>
        <span className={`status-part connection ${connection}`} role="status">
          <span className="lamp" aria-hidden="true" />
          {CONNECTION[connection]}
        </span>
      </footer>
    </>
  );
}

function RunText({ run }: { run: RunState }) {
  if (run.state === "queued") return <span className="status-part">waiting to run</span>;
  if (run.state === "running") {
    const of = run.total ? `${run.done} of ${run.total} blocks` : "running";
    return (
      <span className="status-part">
        <progress max={run.total || 1} {...(run.total ? { value: run.done } : {})} aria-label="Progress of the run" />
        {of}
        {run.steps > 1 ? `, round ${run.step} of ${run.steps}` : ""}
      </span>
    );
  }
  if (run.state === "stepping") return <span className="status-part">stepping: next is {run.next}</span>;
  if (!run.outcome) return null;
  const text =
    run.outcome === "done"
      ? `${run.ran} ran, ${run.cached} cached, ${timeText(run.seconds)}`
      : run.outcome === "stopped"
        ? run.error || "stopped"
        : `failed${run.error ? `: ${run.error}` : ""}`;
  return (
    <span
      className={`status-part run-text${run.outcome === "failed" || run.mismatches.length ? " bad" : ""}`}
      title={text}
    >
      {text}
      {run.mismatches.length > 0 && ` · ${counted(run.mismatches.length, "result")} not as expected`}
    </span>
  );
}

function Problems() {
  const problems = useStudio((s) => s.check?.problems ?? NO_PROBLEMS);
  const mismatches = useStudio((s) => s.run.mismatches);
  const failed = useStudio((s) => (s.run.outcome === "failed" ? s.run.error : ""));
  const studio = useStudio.getState;
  return (
    <section className="problems" aria-label="Problems">
      <div className="panel-head">
        <h2>Problems</h2>
        <IconButton
          icon="close"
          label="Close the list of problems"
          title="Close (Esc)"
          onClick={() => studio().setPanel({ problems: false })}
        />
      </div>
      {!problems.length && !mismatches.length && !failed && <p className="quiet">Nothing is wrong with this page.</p>}
      <ul>
        {failed && <li className="problem-text">{failed}</li>}
        {problems.map((problem) => (
          <li key={`${problem.node} ${problem.port} ${problem.text}`}>
            <button
              type="button"
              className="problem"
              disabled={!problem.node}
              onClick={() => studio().goTo(problem.node)}
            >
              <b>{[problem.node, problem.port].filter(Boolean).join(".") || "page"}</b> {problem.text}
            </button>
          </li>
        ))}
        {mismatches.map((miss) => (
          <li key={miss.name} className="problem-text">
            <b>{miss.name}</b> {miss.text}
          </li>
        ))}
      </ul>
    </section>
  );
}

const NO_PROBLEMS: never[] = [];
