import { useCallback, useEffect, useMemo, useState } from "react";
import type { Checkout } from "../api.ts";
import { isEmbedded } from "../embed-messages.ts";
import { GhostLine } from "../parts/Ghost.tsx";
import { useQuery } from "../use-query.ts";
import { getPlatform } from "./Account.tsx";
import { Benefits } from "./Benefits.tsx";
import { entrance, openPortal, type Portal, type Seller } from "./calls.ts";
import { PortalMessagesProvider, usePortalMessages } from "./messages.tsx";
import { Refused } from "./Part.tsx";
import { PortalContext } from "./portal-context.ts";
import { Seats } from "./Seats.tsx";
import { streamChanges } from "./stream-changes.ts";
import "../portal.css";

type Benefit = Checkout["products"][number]["benefits"][number];

/** How often grants are asked for while some are missing, and for how long. News may come before the stream is open. */
const againMs = 1000;
const triesMax = 60;

/** Grey bars as high as what comes. */
const Ghost = ({ benefits }: { benefits: readonly Benefit[] }) => (
  <div className="portal purchase" aria-busy="true">
    {benefits.map(({ id }) => (
      <div key={id} className="card stack">
        <GhostLine width="60%" />
        <GhostLine width="90%" />
      </div>
    ))}
  </div>
);

/** What was granted of these benefits, as it is granted; what is still missing is named. */
function Granted({ portal, seller, benefits }: { portal: Portal; seller: Seller; benefits: readonly Benefit[] }) {
  const messages = usePortalMessages();
  const ids = benefits.map(({ id }) => id).join(" ");
  const { value, failure, reload } = useQuery(useCallback(() => portal.grantsOf(ids.split(" ")), [portal, ids]));
  const { token, ended } = portal;
  useEffect(() => streamChanges({ token, ended }, () => void reload()), [token, ended, reload]);

  const granted = value?.items.filter(({ is_revoked }) => !is_revoked);
  const missing = benefits.filter(({ id }) => !granted?.some(({ benefit_id }) => benefit_id === id));
  const isMissing = granted !== undefined && missing.length > 0;
  useEffect(() => {
    if (!isMissing) return;
    let tries = 0;
    const timer = setInterval(() => {
      tries += 1;
      if (tries >= triesMax) clearInterval(timer);
      void reload();
    }, againMs);
    return () => clearInterval(timer);
  }, [isMissing, reload]);

  // A buyer replaces keys in the portal, not right after the payment.
  const place = useMemo(() => ({ portal, seller, me: null, isAside: true, reload }), [portal, seller, reload]);
  return (
    <PortalContext value={place}>
      <div className="portal purchase">
        <Benefits asked={{ value: granted, failure }} />
        {isMissing && (
          <ul className="stack bare" role="status">
            {missing.map(({ id, description }) => (
              <li key={id} className="card stack">
                <h3>{description}</h3>
                <p className="soft">{messages.preparing}</p>
              </li>
            ))}
          </ul>
        )}
      </div>
    </PortalContext>
  );
}

/** The seats of the order: the buyer assigns them, and each holder gets the benefits. */
function BoughtSeats({ portal, seller, order_id }: { portal: Portal; seller: Seller; order_id: string }) {
  const messages = usePortalMessages();
  const { value: order, failure, reload } = useQuery(useCallback(() => portal.order(order_id), [portal, order_id]));
  const place = useMemo(() => ({ portal, seller, me: null, reload }), [portal, seller, reload]);
  if (!order) return <Refused failure={failure} />;
  const { id, subscription_id } = order;
  return (
    <PortalContext value={place}>
      <div className="portal purchase">
        <div className="card stack">
          <Seats container={subscription_id === null ? { order_id: id } : { subscription_id }} />
          <p className="soft small">{messages.seats_how}</p>
        </div>
      </div>
    </PortalContext>
  );
}

/**
 * What came with a purchase, on the page that follows it: its benefits, or the seats through which others get them. Nothing where
 * the session of the purchase is over.
 */
export default function Purchase({
  slug,
  token,
  benefits: all,
  seats_of,
}: {
  slug: string;
  token: string;
  benefits: readonly Benefit[];
  /** The order whose seats are to be assigned; null where it has none. */
  seats_of: string | null;
}) {
  const [isOver, setIsOver] = useState(false);
  // Platforms do not open in a frame: from there an account is connected in the portal.
  const benefits = isEmbedded() ? all.filter((benefit) => !getPlatform({ benefit })) : all;
  const { value: seller, failure } = useQuery(useCallback(() => entrance.seller(slug), [slug]));
  const ended = useCallback(() => setIsOver(true), []);
  const portal = useMemo(() => openPortal(token, ended), [token, ended]);
  const ghost = <Ghost benefits={benefits} />;
  if (isOver || failure || (seats_of === null && benefits.length === 0)) return null;
  return (
    <PortalMessagesProvider before={ghost}>
      {!seller ? (
        ghost
      ) : seats_of === null ? (
        <Granted portal={portal} seller={seller} benefits={benefits} />
      ) : (
        <BoughtSeats portal={portal} seller={seller} order_id={seats_of} />
      )}
    </PortalMessagesProvider>
  );
}
