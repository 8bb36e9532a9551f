import { has } from "../page/links";
import { useStudio } from "../store";
import { NodePanel } from "./NodePanel";
import { PagePanel } from "./PagePanel";
import { SeveralPanel } from "./SeveralPanel";
import "./inspector.css";

/** What is selected, in full: a block, several, or the page itself. */
export function Inspector({ node }: { node: string | null }) {
  const exists = useStudio((state) => node !== null && has(state.document.nodes, node));
  const several = useStudio((state) => state.selection.nodes.length > 1);
  return (
    <section className="inspector" aria-label="Inspector">
      {several ? <SeveralPanel /> : node !== null && exists ? <NodePanel key={node} node={node} /> : <PagePanel />}
    </section>
  );
}
