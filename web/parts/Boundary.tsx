import { Component, type ComponentType, type ReactNode } from "react";
import { isLeaving } from "../reload.ts";
import { Frame, Shell } from "./Shell.tsx";

type Failing = { children: ReactNode };
type FailureView = ComponentType<{ purchases: string | undefined }>;

/** Takes the place of a page that could not be loaded or drawn. It is loaded ahead: later it may not be there any more. */
export const loadFailurePage = () => import("../pages/failure.tsx");

/** Catches a page that could not be loaded or failed while drawing, and says what to do. */
export class Boundary extends Component<Failing, { failed: boolean; View?: FailureView | null }> {
  override state: { failed: boolean; View?: FailureView | null } = { failed: false };
  static getDerivedStateFromError() {
    return { failed: true };
  }
  override componentDidCatch() {
    if (isLeaving()) return;
    loadFailurePage().then(
      (module) => this.setState({ View: module.default }),
      () => this.setState({ View: null }),
    );
  }
  override render() {
    const { failed, View } = this.state;
    if (!failed) return this.props.children;
    if (View === undefined) return <Frame />;
    const { purchases } = (history.state ?? {}) as { purchases?: string };
    if (View) return <View purchases={purchases} />;
    // Not even that page can be loaded: a link is all that is left, to what was ordered or to the same page.
    return (
      <Shell title="floe">
        <a className="button" href={purchases ?? ""}>
          {purchases ? "Open your purchases" : "Load again"}
        </a>
      </Shell>
    );
  }
}
