import { HomeMessagesProvider, useHomeMessages } from "../home/messages.tsx";
import { usePrices } from "../home/prices.ts";
import { I18nProvider } from "../i18n/i18n.tsx";
import { language } from "../i18n/language.ts";
import { Markdown } from "../parts/Markdown.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import { given_storefront } from "../server-data.ts";
import "../home.css";

type Seller = NonNullable<typeof given_storefront>["sellers"][number];

type OfferProps = { product: Seller["products"][number]; heading: "h2" | "h3" };

function Offer({ product, heading: Heading }: OfferProps) {
  const messages = useHomeMessages();
  const { name, description, picture, url } = product;
  return (
    <li className="card panel">
      {picture !== null && <img className="offer-picture" src={picture} alt="" />}
      <Heading>{name}</Heading>
      <p className="money">{usePrices(product)}</p>
      {description !== null && <Markdown text={description} />}
      <div>
        <a className="button" href={url}>
          {messages.buy}
          <span className="hidden"> {name}</span>
        </a>
      </div>
    </li>
  );
}

function Storefront({ sellers }: { sellers: readonly Seller[] }) {
  const messages = useHomeMessages();
  const [first, ...others] = sellers;
  const title = first && others.length === 0 ? first.name : messages.on_sale;
  return (
    <Shell wide title={title} aside={<a href="/sign-in">{messages.sign_in}</a>}>
      <div className="stack">
        <h1>{title}</h1>
        {sellers.map(({ slug, name, products }) => (
          <section key={slug} className="stack" aria-label={name}>
            {others.length > 0 && <h2>{name}</h2>}
            <ul className="home-columns offers">
              {products.map((product) => (
                <Offer key={product.id} product={product} heading={others.length > 0 ? "h3" : "h2"} />
              ))}
            </ul>
          </section>
        ))}
      </div>
    </Shell>
  );
}

/** For a visitor: the public products of the sellers who show them here. */
export default function StorefrontPage() {
  return (
    <I18nProvider locale={language} before={<Frame />}>
      <HomeMessagesProvider before={<Frame />}>
        <Storefront sellers={given_storefront?.sellers ?? []} />
      </HomeMessagesProvider>
    </I18nProvider>
  );
}
