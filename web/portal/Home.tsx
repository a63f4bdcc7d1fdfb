import { type ReactNode, useCallback, useEffect, useMemo, useState } from "react";
import { GhostLine } from "../parts/Ghost.tsx";
import { useTitle } from "../parts/Shell.tsx";
import { useQuery } from "../use-query.ts";
import { Benefits } from "./Benefits.tsx";
import { Billing } from "./Billing.tsx";
import { Cards } from "./Cards.tsx";
import type { Failure, Order, Portal, Seller, Subscription } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { isUnpaid, Orders } from "./Orders.tsx";
import { Refused } from "./Part.tsx";
import { PortalContext, usePlace } from "./portal-context.ts";
import { isLiving, Subscriptions } from "./Subscriptions.tsx";
import { streamChanges } from "./stream-changes.ts";
import { Usage } from "./Usage.tsx";
import { type Section, useSection } from "./use-section.ts";

const ordersStep = 5;

const getItems = <T,>({ value, failure }: { value: { items: T[] } | undefined; failure: unknown }) => ({
  value: value?.items,
  failure: failure as never,
});

/** The customer, or the member of a team, with a session. */
export type Visitor = { email: string | null; locale: string | null };
type Shown = { portal: Portal; seller: Seller; setVisitor: (visitor: Visitor) => void };

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
function Own({ portal, seller }: Omit<Shown, "setVisitor">) {
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
  const { setVisitor } = shown;
  const { value: user, failure } = useQuery(shown.portal.user);
  useEffect(() => {
    if (user?.role === "member") setVisitor({ email: user.email, locale: null });
  }, [user, setVisitor]);
  if (!user) return <Waiting failure={failure} />;
  return user.role === "member" ? <Own {...shown} /> : <Everything {...shown} />;
}

/** With what the sessions of people of a team begin. */
const memberToken = "polar_mst_";

/** What whoever is signed in has and may do. */
export function Home(shown: Shown) {
  return shown.portal.token.startsWith(memberToken) ? <OfTeam {...shown} /> : <Everything {...shown} />;
}

/** The section that is shown where the address names none: an open payment and what is charged again come first. */
function chooseFirst(subscriptions: readonly Subscription[], orders: readonly Order[], hasBenefits: boolean): string {
  if (subscriptions.some(isLiving) || orders.some(isUnpaid)) return "subscriptions";
  return hasBenefits ? "benefits" : "orders";
}

/** Absent sections have nothing to show; one that could not be loaded says so. */
type Content = Section & { content: ReactNode; isAbsent?: boolean };
const isEmpty = ({ value }: { value: { items: unknown[] } | undefined }): boolean => value?.items.length === 0;

/** One section at a time, and links to all of them. What was shown once stays as it was left. */
function Sections({ sections, first }: { sections: readonly Content[]; first: string }) {
  const messages = usePortalMessages();
  const { seller } = usePlace();
  // A later change leads the customer to no other section.
  const [initialId] = useState(first);
  const current = useSection(sections, initialId);
  const [visited, setVisited] = useState<readonly string[]>([]);
  const currentId = current?.id ?? "";
  useEffect(() => setVisited((before) => [...new Set([...before, currentId])]), [currentId]);
  const title = messages.title(seller.organization.name);
  useTitle(current ? `${current.title} · ${title}` : title);
  return (
    <div className="portal">
      <nav aria-label={messages.parts}>
        <ul>
          {sections.map(({ id, title }) => (
            <li key={id}>
              <a href={`#${id}`} aria-current={id === currentId ? "page" : undefined}>
                {title}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div>
        {sections.map(
          ({ id, content }) =>
            (id === currentId || visited.includes(id)) && (
              <div key={id} className="parts" hidden={id !== currentId}>
                {content}
              </div>
            ),
        )}
      </div>
    </div>
  );
}

/** All that a customer has, is billed for, and can do, in sections that are known before the first one is shown. */
function Everything({ portal, seller, setVisitor }: Shown) {
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
  const visitor = me.value;
  useEffect(() => {
    if (visitor) setVisitor(visitor);
  }, [visitor, setVisitor]);

  const place = useMemo(() => me.value && { portal, seller, me: me.value, reload }, [portal, seller, me.value, reload]);
  const isKnown = [subscriptions, orders, grants, meters].every(({ value, failure }) => value ?? failure);
  if (!place || !isKnown) return <Waiting failure={me.failure} />;
  const subscriptionList = subscriptions.value?.items ?? [];
  const orderList = orders.value?.items ?? [];
  const cardList = cards.value?.items ?? [];
  const showsUsage = seller.organization.customer_portal_settings.usage.show;
  const sections: Content[] = [
    {
      id: "subscriptions",
      title: messages.subscriptions,
      parts: ["subscriptions"],
      isAbsent: isEmpty(subscriptions),
      content: <Subscriptions asked={getItems(subscriptions)} orders={orderList} cards={cardList} />,
    },
    {
      id: "benefits",
      title: messages.benefits,
      parts: ["benefits"],
      isAbsent: isEmpty(grants),
      content: <Benefits asked={getItems(grants)} />,
    },
    {
      id: "usage",
      title: messages.usage,
      parts: ["usage"],
      isAbsent: !showsUsage || isEmpty(meters),
      content: <Usage asked={getItems(meters)} subscriptions={subscriptionList} />,
    },
    {
      id: "orders",
      title: messages.orders,
      parts: ["orders"],
      content: (
        <Orders
          asked={orders}
          cards={cardList}
          more={async () => setLimit((shown) => Math.min(shown + ordersStep, 100))}
        />
      ),
    },
    {
      id: "payment",
      title: messages.payment,
      parts: ["cards", "billing"],
      content: (
        <>
          <Cards asked={getItems(cards)} />
          <Billing />
        </>
      ),
    },
  ];
  return (
    <PortalContext value={place}>
      <Sections
        sections={sections.filter(({ isAbsent }) => !isAbsent)}
        first={chooseFirst(subscriptionList, orderList, !isEmpty(grants))}
      />
    </PortalContext>
  );
}
