import { has, splitSource } from "../page/links";
import { useStudio } from "../store";

/** A block, or an output of one, by name; a click goes there. */
export function NodeLink({ source, isInput }: { source: string; isInput?: boolean }) {
  const nodes = useStudio((state) => state.document.nodes);
  const [node] = splitSource(nodes, source);
  if (!has(nodes, node)) return <span className="inspector-wrong">{source} is not on the page</span>;
  return (
    <button
      type="button"
      className="inspector-link"
      title={isInput ? `Go to ${node}` : undefined}
      onClick={() => useStudio.getState().goTo(node)}
    >
      {isInput ? `← ${source}` : source}
    </button>
  );
}
