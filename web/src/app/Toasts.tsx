// Short messages that go away on their own.
import { useStudio } from "../store";
import { IconButton } from "../toolbar/Icon";

export function Toasts() {
  const toasts = useStudio((s) => s.toasts);
  const drop = useStudio((s) => s.dropToast);
  return (
    <div className="toasts" role="log" aria-live="assertive" aria-label="Messages">
      {toasts.map((toast) => (
        <div key={toast.id} className={`toast ${toast.tone}`}>
          <span>{toast.text}</span>
          <IconButton icon="close" title="Dismiss" onClick={() => drop(toast.id)} />
        </div>
      ))}
    </div>
  );
}
