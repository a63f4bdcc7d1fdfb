import { useCallback, useMemo } from "react";
import { CustomerOrders, CustomerUsage, Events, Grants, Subscriptions } from "../home/Customer.tsx";
import { useHome } from "../home/home-context.ts";
import { HomePage } from "../home/Layout.tsx";
import { Loaded } from "../home/Loaded.tsx";
import { useHomeMessages } from "../home/messages.tsx";
import { Panel } from "../home/Panel.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { useTitle } from "../parts/Shell.tsx";
import { useQuery } from "../use-query.ts";

function Customer({ id }: { id: string }) {
  const messages = useHomeMessages();
  const { day, locale } = useI18n();
  const countries = useMemo(() => new Intl.DisplayNames([locale, "en"], { type: "region" }), [locale]);
  const { calls } = useHome();
  const state = useQuery(useCallback(() => calls.customer(id), [calls, id]));
  const customer = state.value;
  const name = customer ? (customer.name ?? customer.email ?? messages.unnamed) : messages.customer;
  useTitle(`${name} · floe`);
  const isKnown = customer !== undefined;
  const named = customer?.email ?? id;
  return (
    <>
      <h1>{name}</h1>
      <Panel title={messages.customer} command={`floe customers get ${named}`}>
        <Loaded state={state}>
          {({ email, external_id, created_at, billing_address }) => (
            <dl className="home-facts">
              <dt>{messages.email}</dt>
              <dd>{email ?? "–"}</dd>
              {external_id !== null && (
                <>
                  <dt>{messages.external_id}</dt>
                  <dd>{external_id}</dd>
                </>
              )}
              {billing_address && (
                <>
                  <dt>{messages.country}</dt>
                  <dd>{countries.of(billing_address.country)}</dd>
                </>
              )}
              <dt>{messages.since}</dt>
              <dd>{day(new Date(created_at))}</dd>
            </dl>
          )}
        </Loaded>
      </Panel>
      {isKnown && (
        <>
          <div className="home-columns">
            <Subscriptions id={id} named={named} />
            <Grants id={id} named={named} />
          </div>
          <CustomerOrders id={id} named={named} />
          <div className="home-columns">
            <CustomerUsage id={id} named={named} />
            <Events id={id} named={named} />
          </div>
        </>
      )}
    </>
  );
}

/** Everything about one customer: what they have, what they paid, what they used. */
export default function HomeCustomerPage({ params }: { params: Record<string, string> }) {
  return (
    <HomePage>
      <Customer id={params.id ?? ""} />
    </HomePage>
  );
}
