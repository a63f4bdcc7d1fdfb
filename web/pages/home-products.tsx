import { useCallback } from "react";
import { Command, useCopy } from "../home/Command.tsx";
import type { CheckoutLink, Product } from "../home/calls.ts";
import { productsMax } from "../home/calls.ts";
import { useHome } from "../home/home-context.ts";
import { HomePage } from "../home/Layout.tsx";
import { Loaded } from "../home/Loaded.tsx";
import { useHomeMessages } from "../home/messages.tsx";
import { Panel } from "../home/Panel.tsx";
import { usePrices } from "../home/prices.ts";
import { Button } from "../parts/Button.tsx";
import { useTitle } from "../parts/Shell.tsx";
import { useQuery } from "../use-query.ts";

function ProductRow({ product, link }: { product: Product; link: CheckoutLink | undefined }) {
  const messages = useHomeMessages();
  const { isCopied, copy } = useCopy();
  const prices = usePrices(product);
  return (
    <li>
      <div className="between">
        <div>
          <p>{product.name}</p>
          <p className="soft small">{prices}</p>
        </div>
        {link && (
          <div className="row">
            <a href={link.url} target="_blank" rel="noreferrer">
              {messages.open_checkout}
              <span className="hidden"> {product.name}</span>
            </a>
            <Button quiet onClick={() => copy(link.url)}>
              {isCopied ? messages.copied : messages.copy_link}
              <span className="hidden"> {product.name}</span>
            </Button>
            <span className="hidden" role="status">
              {isCopied ? messages.copied : ""}
            </span>
          </div>
        )}
      </div>
      {!link && (
        <>
          <p className="soft small">{messages.no_link}</p>
          <Command text={`floe checkout-links create --products ${product.id}`} />
        </>
      )}
    </li>
  );
}

function Products() {
  const messages = useHomeMessages();
  const { calls } = useHome();
  const products = useQuery(calls.products);
  const links = useQuery(calls.checkoutLinks);
  useTitle(`${messages.products} · floe`);
  /** The link that sells this product first. */
  const findLink = useCallback(
    ({ id }: Product) => links.value?.items.find((link) => link.products[0]?.id === id),
    [links.value],
  );
  // A product without a link, and one whose link is not known yet, look alike.
  const isReady = links.value !== undefined || links.failure !== undefined;
  return (
    <>
      <h1>{messages.products}</h1>
      <Panel title={messages.on_sale} command="floe products list">
        <Loaded state={isReady ? products : { value: undefined, failure: undefined }}>
          {({ items, pagination }) => (
            <>
              {items.length === 0 && <p className="soft">{messages.none}</p>}
              <ul className="rows">
                {items.map((product) => (
                  <ProductRow key={product.id} product={product} link={findLink(product)} />
                ))}
              </ul>
              {pagination.total_count > productsMax && <p className="soft small">{messages.more_in_terminal}</p>}
            </>
          )}
        </Loaded>
      </Panel>
    </>
  );
}

/** The products on sale, each with the address of its checkout. */
export default function HomeProductsPage() {
  return (
    <HomePage>
      <Products />
    </HomePage>
  );
}
