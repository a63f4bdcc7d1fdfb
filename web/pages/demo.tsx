import { useEffect, useRef, useState } from "react";
import { useStore } from "../account/use-store.ts";
import { type Failure, requestApi } from "../api.ts";
import { session, startCheckout, unwrapResult } from "../auth-client.ts";
import { loadSellerScript, openOverlay } from "../overlay.ts";
import { PageLinks } from "../page-links.tsx";
import { Button } from "../parts/Button.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell } from "../parts/Shell.tsx";
import "../development.css";

type Product = { id: string; name: string; description: string | null; price_label: string };
type Theme = "light" | "dark";
type Entry = { key: number; time: string; text: string };

const links = [
  { href: "/demo", text: "Demo shop" },
  { href: "/mail", text: "Mail inbox" },
];

/** A seller's shop in small, to try the overlay in. */
export default function DemoPage() {
  const { value: signed } = useStore(session);
  const [products, setProducts] = useState<Product[]>();
  const [failure, setFailure] = useState<Failure>();
  const [theme, setTheme] = useState<Theme>("light");
  const [buying, setBuying] = useState<string>();
  const [fault, setFault] = useState<string>();
  const [log, setLog] = useState<Entry[]>([]);
  const count = useRef(0);

  useEffect(() => {
    void requestApi<Product[]>("GET", "/demo/products.json").then((answer) => {
      if (answer.ok) setProducts(answer.value);
      else setFailure(answer.failure);
    });
    // So that the first click does not wait for it.
    loadSellerScript().catch((error: Error) => setFault(error.message));
  }, []);

  const note = (text: string): void => {
    count.current += 1;
    const entry = { key: count.current, time: new Date().toLocaleTimeString(), text };
    setLog((before) => [entry, ...before].slice(0, 50));
  };
  /** As a site with accounts does it for who is signed in, or by the site's own server for anyone. */
  const open = async (product: Product) => {
    if (signed) return startCheckout({ products: product.id }, { theme });
    const made = unwrapResult(
      await requestApi<{ url: string }>("POST", "/demo/checkout", {
        product_id: product.id,
        embed_origin: location.origin,
      }),
    );
    return openOverlay(made.url, { theme });
  };
  const buy = async (product: Product): Promise<void> => {
    if (buying) return;
    setBuying(product.id);
    setFault(undefined);
    try {
      const { url, loaded } = await open(product);
      note(`open ${url}`);
      setBuying(undefined);
      const overlay = await loaded;
      note("loaded");
      for (const name of ["confirmed", "success", "close"]) {
        overlay.addEventListener(name, (event) => {
          const { successURL } = (event as CustomEvent<{ successURL?: string }>).detail;
          note(successURL ? `${name} → ${successURL}` : name);
        });
      }
    } catch (error) {
      setBuying(undefined);
      setFault(error instanceof Error ? error.message : String(error));
    }
  };
  return (
    <Shell title="Demo shop" wide aside={<PageLinks links={links} />}>
      <div className="demo">
        <section className="stack">
          <div className="demo-head">
            <div>
              <h1>Demo shop</h1>
              <p className="soft">
                Stands for your own site. Buying opens the checkout over it, as it will over yours.
              </p>
            </div>
            <fieldset className="segments">
              <legend className="hidden">Theme of the checkout</legend>
              {(["light", "dark"] as const).map((name) => (
                <label key={name}>
                  <input type="radio" name="theme" checked={theme === name} onChange={() => setTheme(name)} />
                  <span>{name === "light" ? "Light" : "Dark"}</span>
                </label>
              ))}
            </fieldset>
          </div>
          {fault && <Notice tone="fault">{fault}</Notice>}
          {failure && (
            <Notice tone="fault">
              {failure.status === 404
                ? "The demo shop is only there on a local server with its own database."
                : failure.detail}
            </Notice>
          )}
          {products?.length === 0 && (
            <Notice>
              Nothing is for sale yet. Make a product:{" "}
              <code>floe products create --name "Field guide" --price 19.00</code>
            </Notice>
          )}
          <ul className="shelf" aria-busy={!products && !failure}>
            {!products && !failure && (
              <li className="card" aria-hidden="true">
                <GhostLine width="60%" height="1.5rem" />
                <GhostLine width="100%" height="8rem" />
              </li>
            )}
            {products?.map((product) => (
              <li key={product.id} className="card">
                <h2>{product.name}</h2>
                <p className="soft">{product.description}</p>
                <p className="price money">{product.price_label}</p>
                <Button
                  busy={buying === product.id}
                  onClick={() => void buy(product)}
                  aria-label={`Buy ${product.name}`}
                >
                  Buy
                </Button>
              </li>
            ))}
          </ul>
        </section>
        <aside className="stack">
          <div className="card stack">
            <h2>Test cards</h2>
            <p className="soft small">Any date to come, any security code.</p>
            <dl className="cards small">
              {[
                ["4242 4242 4242 4242", "succeeds"],
                ["4000 0000 0000 0002", "is declined"],
                ["4000 0000 0000 9995", "has no funds"],
                ["4000 0000 0000 3220", "asks the bank"],
              ].map(([number, outcome]) => (
                <div key={number}>
                  <dt>
                    <code>{number}</code>
                  </dt>
                  <dd className="soft">{outcome}</dd>
                </div>
              ))}
            </dl>
          </div>
          <div className="card stack">
            <h2>What the overlay says</h2>
            <ol className="log small" aria-live="polite">
              {log.length === 0 && <li className="soft">Nothing yet.</li>}
              {log.map(({ key, time, text }) => (
                <li key={key}>
                  <span className="soft money">{time}</span> <code>{text}</code>
                </li>
              ))}
            </ol>
          </div>
        </aside>
      </div>
    </Shell>
  );
}
