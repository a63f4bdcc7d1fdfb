import type { ReactNode } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { QueryState } from "../use-query.ts";
import { useHomeMessages } from "./messages.tsx";

/** What was asked for, gray bars until it is there, or why it could not be loaded. */
export function Loaded<T>({ state, children }: { state: QueryState<T>; children: (value: T) => ReactNode }) {
  const messages = useHomeMessages();
  const { messages: common } = useI18n();
  if (state.value !== undefined) return children(state.value);
  if (state.failure?.status === 403) return <p className="soft">{messages.not_permitted}</p>;
  if (state.failure?.status === 404) return <p className="soft">{messages.not_found}</p>;
  if (state.failure) return <Notice tone="fault">{describeFailure(state.failure, common)}</Notice>;
  return (
    <div className="stack" aria-busy="true">
      <GhostLine width="60%" />
      <GhostLine width="90%" />
    </div>
  );
}
