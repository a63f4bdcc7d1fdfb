import type { Failure } from "../api.ts";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./Button.tsx";
import { Shell } from "./Shell.tsx";

/** The failure of a checkout that ended without a sale. */
export const expired: Failure = { status: 410, error: "ExpiredCheckoutError", detail: "", faults: [] };

/** The page of a checkout that cannot be shown, with the reason. */
export function Unavailable({ failure, retry }: { failure: Failure; retry: () => void }) {
  const { messages } = useI18n();
  const known = { 410: messages.expired, 404: messages.unknown }[failure.status];
  const [title, text] = known ?? [messages.not_loaded, describeFailure(failure, messages)];
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        <p className="soft">{text}</p>
        {!known && <Button onClick={retry}>{messages.try_again}</Button>}
      </div>
    </Shell>
  );
}
