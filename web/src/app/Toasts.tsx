// Short messages that go away on their own.
import { useStudio } from "../store";
import { Icon } from "../toolbar/Icon";

export function Toasts() {
  const toasts = useStudio((s) => s.toasts);
  const drop = useStudio((s) => s.dropToast);
  return (
    <div className="toasts" role="log" aria-live="assertive" aria-label="Messages">
      {toasts.map((toast) => (
        <div key={toast.id} className={`toast ${toast.tone}`}>
          <span>{toast.text}</span>
          <button
            type="button"
            className="ghost tiny"
            aria-label="Dismiss"
            title="Dismiss"
            onClick={() => drop(toast.id)}
          >
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
