import { useEffect, useState } from "react";
import { Link } from "../account/Link.tsx";
import type { Calls, Page } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";

const typingMs = 250;
const lengthMin = 2;
const lengthMax = 200;

type Results = { query: string; customers: Page<"customers">["items"]; orders: Page<"orders">["items"] };

/** Finds customers by a part of the name or address, and an order by its number, while the seller types. */
export function Search({ calls }: { calls: Calls }) {
  const messages = useHomeMessages();
  const [text, setText] = useState("");
  const [results, setResults] = useState<Results>();
  const query = text.trim();
  const isLongEnough = query.length >= lengthMin;
  useEffect(() => {
    if (!isLongEnough) return setResults(undefined);
    let isOutdated = false;
    const timer = setTimeout(async () => {
      const [customers, orders] = await Promise.all([
        calls.searchCustomers(query),
        calls.findOrders(query.toUpperCase()),
      ]);
      // A role may read one of the two alone.
      if (!isOutdated)
        setResults({
          query,
          customers: customers.ok ? customers.value.items : [],
          orders: orders.ok ? orders.value.items : [],
        });
    }, typingMs);
    return () => {
      isOutdated = true;
      clearTimeout(timer);
    };
  }, [calls, query, isLongEnough]);
  const count = results ? results.customers.length + results.orders.length : 0;
  return (
    <search
      className="home-search"
      onKeyDown={({ key }) => {
        if (key === "Escape") setText("");
      }}
    >
      <input
        type="search"
        aria-label={messages.search}
        placeholder={messages.search}
        value={text}
        maxLength={lengthMax}
        autoComplete="off"
        spellCheck={false}
        onChange={({ target }) => setText(target.value)}
      />
      <span className="hidden" role="status">
        {results ? messages.results(count) : ""}
      </span>
      {results && (
        <div className="card found">
          {count === 0 && <p className="soft">{messages.nothing_found(results.query)}</p>}
          <ul className="rows">
            {results.orders.map(({ id, invoice_number, customer }) => (
              <li key={id}>
                <Link href={`/store/orders/${id}`}>{invoice_number}</Link>
                <p className="soft small">{customer.name ?? customer.email ?? messages.unnamed}</p>
              </li>
            ))}
            {results.customers.map(({ id, name, email }) => (
              <li key={id}>
                <Link href={`/store/customers/${id}`}>{name ?? email ?? messages.unnamed}</Link>
                {name !== null && <p className="soft small">{email}</p>}
              </li>
            ))}
          </ul>
        </div>
      )}
    </search>
  );
}
