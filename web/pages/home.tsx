import { Attention } from "../home/Attention.tsx";
import { Figures } from "../home/Figures.tsx";
import { useHome } from "../home/home-context.ts";
import { HomePage } from "../home/Layout.tsx";
import { Legal } from "../home/Legal.tsx";
import { useHomeMessages } from "../home/messages.tsx";
import { NextSteps } from "../home/NextSteps.tsx";
import { OrderTable } from "../home/Orders.tsx";
import { Panel } from "../home/Panel.tsx";
import { Renewals, Usage } from "../home/Upcoming.tsx";

function Overview() {
  const messages = useHomeMessages();
  const { overview } = useHome();
  const { name, sandbox, scopes, figures, currency, orders, renewals, meters, has_products, has_checkout_links } =
    overview;
  // Who sold already, by the API or otherwise, needs no first steps.
  const isNew = !orders?.length && !(has_products && has_checkout_links) && scopes.includes("products:write");
  const setsLegal = !isNew && scopes.includes("organizations:write");
  return (
    <>
      <div className="row">
        <h1>{name}</h1>
        {sandbox && <span className="state">{messages.sandbox}</span>}
      </div>
      {isNew && (
        <Panel title={messages.next_steps}>
          <NextSteps hasStore hasProducts={has_products} hasLinks={has_checkout_links} />
        </Panel>
      )}
      {figures && <Figures figures={figures} currency={currency} />}
      <Attention overview={overview} />
      {orders && (
        <Panel title={messages.orders} command="floe orders list">
          {orders.length === 0 ? (
            <p className="soft">{messages.no_orders}</p>
          ) : (
            <OrderTable orders={orders} label={messages.orders} />
          )}
        </Panel>
      )}
      <div className="home-columns">
        {renewals && <Renewals renewals={renewals} />}
        {meters && <Usage meters={meters} />}
      </div>
      {setsLegal && <Legal missing={overview.missing_legal} />}
    </>
  );
}

/** What a signed-in seller sees first: revenue, faults, the latest orders, renewals and usage. */
export default function SellerHomePage() {
  return (
    <HomePage>
      <Overview />
    </HomePage>
  );
}
