import { useCallback, useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { useQuery } from "../use-query.ts";
import { Command } from "./Command.tsx";
import { useHome } from "./home-context.ts";
import { Loaded } from "./Loaded.tsx";
import { useHomeMessages } from "./messages.tsx";

const scopesToRedeliver = ["webhooks:write", "webhook_deliveries:write"];

type EventProps = { id: string; type: string; at: string };

function FailedEvent({ id, type, at }: EventProps) {
  const messages = useHomeMessages();
  const { messages: common, locale } = useI18n();
  const { calls, overview, reload } = useHome();
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState("");
  const time = new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" });
  const sendAgain = async (): Promise<void> => {
    setBusy(true);
    const answer = await calls.redeliver(id);
    setBusy(false);
    setResult(answer.ok ? messages.redelivered : describeFailure(answer.failure, common));
    if (answer.ok) void reload();
  };
  return (
    <li>
      <div className="between">
        <div>
          <p>{type}</p>
          <p className="soft small">{time.format(new Date(at))}</p>
        </div>
        {scopesToRedeliver.some((scope) => overview.scopes.includes(scope)) && (
          <Button quiet busy={busy} onClick={() => void sendAgain()}>
            {messages.redeliver}
            <span className="hidden"> {type}</span>
          </Button>
        )}
      </div>
      <p role="status" className="small">
        {result}
      </p>
      <Command text={`floe webhooks redeliver ${id}`} />
    </li>
  );
}

/** The events of an endpoint that were not delivered, each of which can be sent again. */
export function FailedEvents({ endpoint_id }: { endpoint_id: string }) {
  const messages = useHomeMessages();
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.failedDeliveries(endpoint_id), [calls, endpoint_id]));
  return (
    <Loaded state={state}>
      {({ items }) => {
        // Several attempts may be of one event.
        const events = new Map(items.map(({ webhook_event }) => [webhook_event.id, webhook_event]));
        return events.size === 0 ? (
          <p className="soft">{messages.none}</p>
        ) : (
          <ul className="rows">
            {[...events.values()].map(({ id, type, created_at }) => (
              <FailedEvent key={id} id={id} type={type} at={created_at} />
            ))}
          </ul>
        );
      }}
    </Loaded>
  );
}
