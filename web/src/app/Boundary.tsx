import { Component, type ErrorInfo, type ReactNode } from "react";

type State = { problem: Error | null };

/** Around everything: a fault of the page's own must not take the work away without a word. */
export class Boundary extends Component<{ children: ReactNode }, State> {
  override state: State = { problem: null };

  static getDerivedStateFromError(problem: Error): State {
    return { problem };
  }

  override componentDidCatch(problem: Error, info: ErrorInfo): void {
    console.error(problem.message, info.componentStack);
  }

  override render(): ReactNode {
    const { problem } = this.state;
    if (!problem) return this.props.children;
    return (
      <main className="fatal">
        <h1>gradbag studio</h1>
        <p>Something went wrong in this window: {problem.message}</p>
        <p>Your edits are in the journal and are offered when the page is opened again.</p>
        <button type="button" className="primary" onClick={() => location.assign(location.pathname)}>
          Start again
        </button>
      </main>
    );
  }
}
