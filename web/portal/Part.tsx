import { type ReactNode, useEffect, useId, useRef } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { focusHeading } from "../router.tsx";
import type { QueryState } from "../use-query.ts";
import type { Failure } from "./calls.ts";

/** One part of the page under its heading; gray bars where its content will be. */
export function Part<T>({
  id,
  title,
  asked,
  children,
}: {
  id: string;
  title: string;
  asked: QueryState<T>;
  children: (value: T) => ReactNode;
}) {
  const { value, failure } = asked;
  return (
    <section id={id} className="part" aria-labelledby={`${id}-title`} aria-busy={!value && !failure}>
      <h2 id={`${id}-title`}>{title}</h2>
      {value !== undefined ? (
        children(value)
      ) : failure ? (
        <Refused failure={failure} />
      ) : (
        <div className="card stack">
          <GhostLine width="60%" />
          <GhostLine width="90%" />
        </div>
      )}
    </section>
  );
}

/** Why something was refused, where it was. */
export function Refused({ failure }: { failure: Failure | undefined }) {
  const { messages } = useI18n();
  return failure ? <Notice tone="fault">{describeFailure(failure, messages)}</Notice> : null;
}

/** A question over the page. A native dialog keeps the keyboard inside; closed, the focus goes back to what opened it. */
export function Dialog({ title, left, children }: { title: string; left: () => void; children: ReactNode }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    const opener = document.activeElement;
    if (!element?.open) element?.showModal();
    return () => {
      element?.close();
      // The dialog is out of the page by now, so the browser does not give the focus back by itself.
      requestAnimationFrame(() =>
        setTimeout(() => {
          if (document.activeElement === document.body && opener instanceof HTMLElement) opener.focus();
          // The opener may be gone with what was changed.
          focusHeading();
        }),
      );
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      className="question"
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        left();
      }}
    >
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children}
      </div>
    </dialog>
  );
}
