import { useCallback, useEffect, useMemo, useState } from "react";
import { GhostLine } from "../parts/Ghost.tsx";
import { useQuery } from "../use-query.ts";
import { Benefits } from "./Benefits.tsx";
import { Billing } from "./Billing.tsx";
import { Cards } from "./Cards.tsx";
import type { Failure, Portal, Seller } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Orders } from "./Orders.tsx";
import { Refused } from "./Part.tsx";
import { PortalContext } from "./portal-context.ts";
import { Subscriptions } from "./Subscriptions.tsx";
import { streamChanges } from "./stream-changes.ts";
import { Usage } from "./Usage.tsx";

const ordersStep = 5;

const getItems = <T,>({ value, failure }: { value: { items: T[] } | undefined; failure: unknown }) => ({
  value: value?.items,
  failure: failure as never,
});

type Shown = { portal: Portal; seller: Seller; setLocale: (locale: string | null) => void };

/** Calls back when something has happened to what is shown. */
const useNews = ({ token, ended }: Portal, reload: () => Promise<unknown>): void =>
  // What happens elsewhere, such as a payment that goes through, is seen here at once.
  useEffect(() => streamChanges({ token, ended }, () => void reload()), [token, ended, reload]);

function Waiting({ failure }: { failure: Failure | undefined }) {
  if (failure) return <Refused failure={failure} />;
  return (
    <div className="card stack" aria-busy>
      <GhostLine width="50%" />
      <GhostLine width="80%" />
      <GhostLine width="70%" />
    </div>
  );
}

/** What one of the people of a team has of what it has bought: what it pays is none of theirs. */
function Own({ portal, seller }: Omit<Shown, "setLocale">) {
  const grants = useQuery(portal.grants);
  const { reload } = grants;
  useNews(portal, reload);
  const place = useMemo(() => ({ portal, seller, me: null, reload }), [portal, seller, reload]);
  return (
    <PortalContext value={place}>
      <Benefits asked={getItems(grants)} />
    </PortalContext>
  );
}

function OfTeam(shown: Shown) {
  const { value: user, failure } = useQuery(shown.portal.user);
  if (!user) return <Waiting failure={failure} />;
  return user.role === "member" ? <Own {...shown} /> : <Everything {...shown} />;
}

/** With what the sessions of people of a team begin. */
const memberToken = "polar_mst_";

/** What whoever is signed in has and may do. */
export function Home(shown: Shown) {
  return shown.portal.token.startsWith(memberToken) ? <OfTeam {...shown} /> : <Everything {...shown} />;
}

/** All that a customer has, is billed for, and can do. Each part is shown as soon as it is known. */
function Everything({ portal, seller, setLocale }: Shown) {
  const messages = usePortalMessages();
  const [limit, setLimit] = useState(ordersStep);
  const me = useQuery(portal.me);
  const subscriptions = useQuery(portal.subscriptions);
  const orders = useQuery(useCallback(() => portal.orders(limit), [portal, limit]));
  const cards = useQuery(portal.cards);
  const grants = useQuery(portal.grants);
  const meters = useQuery(portal.meters);

  const { reload: askMe } = me;
  const { reload: askSubscriptions } = subscriptions;
  const { reload: askOrders } = orders;
  const { reload: askCards } = cards;
  const { reload: askGrants } = grants;
  const { reload: askMeters } = meters;
  const reload = useCallback(
    () => Promise.all([askMe(), askSubscriptions(), askOrders(), askCards(), askGrants(), askMeters()]),
    [askMe, askSubscriptions, askOrders, askCards, askGrants, askMeters],
  );
  useNews(portal, reload);
  const locale = me.value?.locale;
  useEffect(() => {
    if (locale) setLocale(locale);
  }, [locale, setLocale]);

  const place = useMemo(() => me.value && { portal, seller, me: me.value, reload }, [portal, seller, me.value, reload]);
  if (!place) return <Waiting failure={me.failure} />;
  const showsUsage = seller.organization.customer_portal_settings.usage.show && (meters.value?.items.length ?? 0) > 0;
  const hasBenefits = (grants.value?.items.length ?? 0) > 0;
  const parts = [
    ["subscriptions", messages.subscriptions],
    ...(hasBenefits ? [["benefits", messages.benefits]] : []),
    ...(showsUsage ? [["usage", messages.usage]] : []),
    ["orders", messages.orders],
    ["cards", messages.cards],
    ["billing", messages.billing],
  ];
  return (
    <PortalContext value={place}>
      <div className="portal">
        <nav aria-label={messages.parts}>
          <ul>
            {parts.map(([id, text]) => (
              <li key={id}>
                <a href={`#${id}`}>{text}</a>
              </li>
            ))}
          </ul>
        </nav>
        <div className="parts">
          {place.me.email && <p className="soft small">{messages.signed_in_as(place.me.email)}</p>}
          <Subscriptions
            asked={getItems(subscriptions)}
            orders={orders.value?.items ?? []}
            cards={cards.value?.items ?? []}
          />
          {hasBenefits && <Benefits asked={getItems(grants)} />}
          {showsUsage && <Usage asked={getItems(meters)} subscriptions={subscriptions.value?.items ?? []} />}
          <Orders
            asked={orders}
            cards={cards.value?.items ?? []}
            more={async () => setLimit((shown) => Math.min(shown + ordersStep, 100))}
          />
          <Cards asked={getItems(cards)} />
          <Billing />
        </div>
      </div>
    </PortalContext>
  );
}
