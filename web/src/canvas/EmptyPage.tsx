// What an empty page says.
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";
import { openSearch } from "./paneGestures";

export function EmptyPage() {
  const empty = useStudio(
    (s) => Object.keys(s.document.nodes).length === 0 && Object.keys(s.document.notes ?? {}).length === 0,
  );
  const ready = useStudio((s) => s.catalogue !== null);
  const examples = useStudio((s) => s.files?.examples);
  const quick = useStudio((s) => s.quick);
  if (!empty || !ready || quick) return null;
  return (
    <section
      className="empty-page"
      aria-label="An empty page"
      onDoubleClick={({ target, clientX, clientY }) => {
        if (target instanceof Element && !target.closest("button")) openSearch([clientX, clientY]);
      }}
    >
      <h2>An empty page</h2>
      <p>
        Double-click the canvas or press <kbd>Space</kbd> to find a block. It comes with example values, so it runs at
        once: press <kbd>Ctrl</kbd>+<kbd>Enter</kbd>.
      </p>
      <p>
        Values are typed right into a port. A wire goes from an output’s dot to an input’s: drag it, or click one and
        then the other.
      </p>
      <button type="button" className="primary" onClick={() => openSearch()}>
        <Icon name="plus" /> Add a block
      </button>
      {examples && examples.length > 0 && (
        <>
          <h3>Or begin with an example</h3>
          <ul>
            {examples.slice(0, 5).map((file) => (
              <li key={file.path}>
                <button type="button" className="link" onClick={() => void useStudio.getState().openPath(file.path)}>
                  {file.title || file.path}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
