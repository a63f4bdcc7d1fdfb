import type { FastifyInstance, FastifyRequest } from "fastify";
import type { z } from "zod";
import { CheckoutPublic } from "../../../shared/api/checkout-client.ts";
import { findWebPage } from "../../../shared/destinations.ts";
import { pickLanguage, readLocale } from "../../../shared/locales.ts";
import { toPlainText } from "../../../shared/markdown.ts";
import { formatMoney } from "../../../shared/money.ts";
import { getCountry } from "../ip-countries.ts";
import { pickSourceHeaders } from "./from-here.ts";

type Checkout = z.input<typeof CheckoutPublic>;

/** What one page's document says beyond the common one; texts are as they are, and are escaped where they are put in. */
export type PageContent = {
  status: number;
  lang: string;
  title: string;
  /** Properties and names of `meta`, as `og:title`, with what they say. */
  meta: Record<string, string>;
  /** HTML of what is seen before any script has run. */
  shell: string;
  /** What the page would ask for first. */
  given: object | null;
  /** Who may show the page in a frame, as `frame-ancestors` has it. */
  ancestors: string;
  embedded: boolean;
  theme: "light" | "dark" | undefined;
};

const descriptionMost = 200;
/** A scheme, a host and a port; a host may hold signs that mean something in a policy. */
const plainOrigin = /^https?:\/\/[\w.[\]:-]+$/;

export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** What is said of a product where its page is shared, or listed. */
export function describeOffer({
  name,
  description,
  seller,
  picture,
  price,
}: {
  name: string;
  description: string | null;
  seller: string;
  picture: string | null | undefined;
  price: string | null;
}): Pick<PageContent, "title" | "meta"> {
  const title = `${name} · ${seller}`;
  const about = toPlainText(description ?? "", descriptionMost) || (price ? `${name}, ${price}` : name);
  const image = findWebPage(picture)?.href;
  return {
    title,
    meta: {
      description: about,
      "og:type": "website",
      "og:title": name,
      "og:site_name": seller,
      "og:description": about,
      ...(image && { "og:image": image }),
      "twitter:card": image ? "summary_large_image" : "summary",
    },
  };
}

const renderMetaTag = ([name, text]: [string, string]): string =>
  `<meta ${name.startsWith("og:") ? "property" : "name"}="${name}" content="${escapeHtml(text)}">`;

/** The title of a page and what is said of it, for its `head`. */
export const renderHead = (title: string, meta: Record<string, string>): string =>
  `<title>${escapeHtml(title)}</title>${Object.entries(meta).map(renderMetaTag).join("")}`;

/** The reader's own first language, of what a browser says. */
export const selectLanguage = ({ headers }: FastifyRequest): string | undefined =>
  headers["accept-language"]?.split(",")[0]?.split(";")[0]?.trim();

export const renderGhost = (name: string): string => `<span class="ghost ${name}"></span>`;

/** Whose page it is: their logo, or how their name begins, and the name. */
export function drawSeller({ name, branding, avatar_url }: Checkout["organization"]): string {
  const logo = findWebPage(branding.logo_url ?? avatar_url)?.href;
  const mark = logo
    ? `<img src="${escapeHtml(logo)}" alt="">`
    : `<span class="initial" aria-hidden="true">${escapeHtml(name.slice(0, 1).toUpperCase())}</span>`;
  return `<p class="seller">${mark}<span class="seller-name">${escapeHtml(name)}</span></p>`;
}

/** What a page would ask for first, by the very request, so that it is let through, limited and answered the same. */
export function requestPage(app: FastifyInstance, request: FastifyRequest, url: string) {
  const { cookie } = request.headers;
  return app.inject({
    method: "GET",
    url,
    headers: {
      ...pickSourceHeaders(request),
      "user-agent": request.headers["user-agent"] ?? "",
      ...(cookie === undefined ? {} : { cookie }),
    },
    remoteAddress: request.socket.remoteAddress ?? "",
  });
}

/** The checkout's frame with what it is about, in the very places where the page will put it. */
function drawShell({ organization, product, ...checkout }: Checkout, locale: string): string {
  const picture = product.medias.find(({ mime_type }) => mime_type.startsWith("image/"))?.public_url;
  const due = checkout.is_payment_required ? checkout.total_amount : 0;
  const what = `${picture ? `<img class="picture" src="${escapeHtml(picture)}" alt="">` : ""}<h1>${escapeHtml(product.name)}</h1>`;
  // What is free says so in words, which are the page's.
  const isFree = due === 0 && product.recurring_interval === null;
  const total = isFree ? "\u00a0" : escapeHtml(formatMoney(due, checkout.currency, locale));
  return `<div class="checkout" aria-busy="true"><section class="water">${drawSeller(organization)}<div class="bought"><div class="what">${what}</div><p class="total"><span class="money">${total}</span></p></div></section><main class="ice"><div class="stack" aria-hidden="true">${renderGhost("title")}${renderGhost("input").repeat(3)}</div></main></div>`;
}

/** The origin that may show a checkout in a frame: the one that it was made for (CHK-25). */
function getAncestors({ embed_origin }: Checkout): string {
  const origin = findWebPage(embed_origin)?.origin;
  return origin && plainOrigin.test(origin) ? origin : "'none'";
}

/** The document of a page that is not shown in frames, in the language and the theme of its reader. */
export function buildPage(
  request: FastifyRequest,
  languages: readonly string[],
  { title, shell, given }: Pick<PageContent, "title" | "shell" | "given">,
): PageContent {
  const { theme } = request.query as Record<string, unknown>;
  return {
    status: 200,
    lang: pickLanguage(readLocale(selectLanguage(request)), languages).language,
    ...{ title, shell, given },
    meta: {},
    ancestors: "'none'",
    embedded: false,
    theme: theme === "light" || theme === "dark" ? theme : undefined,
  };
}

/** Read the checkout of a page as the page itself would. Where that fails, the page asks again, and says what is wrong. */
export async function readCheckoutPage(
  app: FastifyInstance,
  request: FastifyRequest<{ Params: { client_secret: string } }>,
  languages: readonly string[],
): Promise<PageContent> {
  const { embed, theme } = request.query as Record<string, unknown>;
  const common = {
    embedded: embed === "true",
    theme: theme === "light" || theme === "dark" ? (theme as "light" | "dark") : undefined,
  };
  const path = `/v1/checkouts/client/${encodeURIComponent(request.params.client_secret)}`;
  const answer = await requestPage(app, request, path);
  const json: unknown = answer.statusCode === 200 ? answer.json() : null;
  // Another provider's answer may lack what is drawn here.
  if (!CheckoutPublic.safeDecode(json as Checkout).success) {
    // Nothing is for sale on a page of none; of any other failure nobody knows.
    const isOver = answer.statusCode === 404 || answer.statusCode === 410;
    const { language } = pickLanguage(readLocale(selectLanguage(request)), languages);
    return {
      ...common,
      status: isOver ? answer.statusCode : 200,
      lang: language,
      title: "floe",
      meta: {},
      shell: "",
      given: null,
      ancestors: isOver ? "*" : "'none'",
    };
  }
  const checkout = json as Checkout;
  const { language, locale } = pickLanguage(readLocale(checkout.locale, selectLanguage(request)), languages);
  const { product, organization } = checkout;
  const picture = product.medias.find(({ mime_type }) => mime_type.startsWith("image/"))?.public_url;
  const price = formatMoney(checkout.total_amount, checkout.currency, locale);
  return {
    ...common,
    status: 200,
    lang: language,
    ...describeOffer({
      name: product.name,
      description: product.description,
      seller: organization.name,
      picture: picture ?? organization.branding.logo_url ?? organization.avatar_url,
      price,
    }),
    shell: drawShell(checkout, locale),
    given: { checkout, country: getCountry(request.ip) },
    ancestors: getAncestors(checkout),
  };
}
