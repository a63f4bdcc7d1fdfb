import type { Failure } from "../api.ts";
import { Button } from "./Button.tsx";
import { Shell } from "./Shell.tsx";

/** The failure of a checkout that ended without a sale. */
export const expired: Failure = { status: 410, error: "ExpiredCheckoutError", detail: "", faults: [] };

/** The page of a checkout that cannot be shown, with the reason. */
export function Unavailable({ failure, retry }: { failure: Failure; retry: () => void }) {
  const [title, text] =
    failure.status === 410
      ? ["This checkout has expired", "Go back to the shop and start again. You have not been charged."]
      : failure.status === 404
        ? ["There is no such checkout", "The address may be cut short. Open the link again from where you found it."]
        : ["The checkout could not be loaded", failure.detail];
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        <p className="soft">{text}</p>
        {failure.status !== 410 && failure.status !== 404 && <Button onClick={retry}>Try again</Button>}
      </div>
    </Shell>
  );
}
