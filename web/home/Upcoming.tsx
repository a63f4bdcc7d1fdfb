import { Link } from "../account/Link.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { Money } from "../parts/Money.tsx";
import type { Overview } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";
import { Panel } from "./Panel.tsx";

/** The subscriptions that renew next, with what each then costs before tax. */
export function Renewals({ renewals }: { renewals: NonNullable<Overview["renewals"]> }) {
  const messages = useHomeMessages();
  const { day } = useI18n();
  return (
    <Panel title={messages.renewals} command="floe subscriptions list --active --sorting current_period_end">
      {renewals.length === 0 ? (
        <p className="soft">{messages.no_renewals}</p>
      ) : (
        <ul className="rows">
          {renewals.map((one) => (
            <li key={one.id} className="between">
              <div>
                <Link href={`/store/customers/${one.customer_id}`}>
                  {one.customer_name ?? one.customer_email ?? messages.unnamed}
                </Link>
                <p className="soft small">
                  {one.product_name} · {day(new Date(one.current_period_end))}
                  {one.status === "trialing" && ` · ${messages.trial_ends}`}
                </p>
              </div>
              <Money amount={one.amount} currency={one.currency} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}

/** What customers used in their current periods, by meter. */
export function Usage({ meters }: { meters: NonNullable<Overview["meters"]> }) {
  const messages = useHomeMessages();
  const { locale } = useI18n();
  const number = new Intl.NumberFormat(locale, { maximumFractionDigits: 2 });
  return (
    <Panel title={messages.usage} command="floe customer-meters list">
      {meters.length === 0 ? (
        <p className="soft">{messages.no_usage}</p>
      ) : (
        <ul className="rows">
          {meters.map((meter) => (
            <li key={meter.id} className="between">
              <div>
                <p>{meter.name}</p>
                <p className="soft small">{messages.used_by(meter.customers, number.format(meter.customers))}</p>
              </div>
              <span className="money">
                {number.format(meter.consumed_units)}
                {meter.partial && "+"}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
