import { useStudio } from "../store";
import { Facts } from "./Facts";

/** Several blocks at once: what they are, and what can be done with all of them. */
export function SeveralPanel() {
  const selection = useStudio((state) => state.selection);
  const nodes = useStudio((state) => state.document.nodes);
  const ops = useStudio((state) => state.ops);
  const problemsOf = useStudio((state) => state.problemsOf);
  const studio = useStudio.getState();
  const kinds = new Map<string, number>();
  for (const name of selection.nodes) {
    const op = nodes[name]?.op ?? "";
    const title = ops.get(op)?.title ?? op;
    kinds.set(title, (kinds.get(title) ?? 0) + 1);
  }
  const wrong = selection.nodes.filter((name) => (problemsOf.get(name)?.length ?? 0) > 0);
  return (
    <>
      <h2>{selection.nodes.length} blocks</h2>
      <Facts facts={[...kinds].sort((a, b) => b[1] - a[1]).slice(0, 12)} />
      {wrong.length > 0 && (
        <ul className="inspector-problems" aria-label="Blocks with problems">
          {wrong.slice(0, 10).map((name) => (
            <li key={name}>
              <button type="button" className="inspector-link" onClick={() => studio.select({ nodes: [name] })}>
                {name}
              </button>
              : {problemsOf.get(name)?.[0]?.text}
            </li>
          ))}
        </ul>
      )}
      <div className="inspector-actions">
        <button type="button" onClick={() => void studio.runTo(selection.nodes)}>
          Run up to these
        </button>
        <button type="button" onClick={() => void studio.tidy()}>
          Tidy
        </button>
        <button type="button" onClick={studio.groupSelection}>
          Group
        </button>
        <button type="button" onClick={studio.duplicate}>
          Duplicate
        </button>
        <button type="button" onClick={() => void studio.copy()}>
          Copy
        </button>
        <button type="button" className="inspector-danger" onClick={studio.removeSelection}>
          Delete
        </button>
      </div>
    </>
  );
}
