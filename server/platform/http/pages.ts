import { readFile } from "node:fs/promises";
import { join } from "node:path";
import fastifyStatic from "@fastify/static";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { type PageContent, readCheckoutPage, renderHead } from "./checkout-page.ts";
import { isFromHere } from "./from-here.ts";
import { buildHomePage } from "./home-page.ts";
import { readPortalPage } from "./portal-page.ts";
import { readStorefrontPage } from "./storefront-page.ts";

export type PagesOptions = {
  /** Folder of the built web app. */
  root: string;
  /** True where card fields come from Stripe. */
  stripe: boolean;
  /** True where the demo shop and the mail inbox are served. */
  development: boolean;
  /** Whether the visitor of the start page is signed in, whatever page leads them there. */
  isSignedIn: (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>;
};

const pages = [
  "/sign-in",
  "/sign-up",
  "/verify-email",
  "/end-sessions",
  "/forgot-password",
  "/reset-password",
  "/accept-invitation",
  "/account",
  "/account/sign-in",
  "/account/sessions",
  "/account/keys",
  "/account/delete",
  "/card/:token",
  "/store/customers/:id",
  "/store/orders/:id",
  "/store/products",
  "/device",
  "/metrics",
  "/error",
  "/:slug/portal/claim",
  "/:slug/portal/email",
  "/:slug/cancel",
];
const checkoutPages = ["/checkout/:client_secret", "/checkout/:client_secret/confirmation"];
const developmentPages = ["/demo", "/mail"];

/** Says which of the built files holds which source. */
const manifestPath = ".vite/manifest.json";

const isVerification = (code: string): boolean =>
  ["token_expired", "invalid_token", "user_not_found", "unauthorized"].includes(code);

/** Stripe's script and frames are named because card fields may only come from the processor itself. */
function buildPolicy({ ancestors, styles, stripe }: { ancestors: string; styles: string; stripe: boolean }): string {
  const [scripts, frames, calls] = stripe
    ? [" https://js.stripe.com https://*.js.stripe.com", " https://hooks.stripe.com", " https://api.stripe.com"]
    : ["", "", ""];
  return [
    "default-src 'self'",
    `script-src 'self'${scripts}`,
    `frame-src 'self'${scripts}${frames}`,
    `connect-src 'self'${calls}`,
    `style-src 'self'${styles}`,
    "img-src 'self' data: https:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    `frame-ancestors ${ancestors}`,
  ].join("; ");
}

/** A page that is filled, by the name of its source. */
type Filled = "checkout" | "portal" | "home" | "storefront";
type Built = { html: string; languages: string[]; preloads: (page: Filled, language: string) => string };

/** The name in the manifest of a page's messages in one language. */
const getMessagesFile = (language: string, page: Filled): string => `../shared/messages/${language}/${page}.ts`;

/** The document of the web app, and which of its files a page in a language goes on to load. */
async function readBuilt(root: string): Promise<Built> {
  const html = await readFile(join(root, "index.html"), "utf8");
  // Without it a page is only slower.
  const listed = await readFile(join(root, manifestPath), "utf8").catch(() => "{}");
  const chunks = JSON.parse(listed) as Record<string, { file: string; name?: string; imports?: string[] }>;
  const sources = Object.keys(chunks);
  const languages = sources.flatMap((source) => /messages\/(\w+)\/checkout\.ts$/.exec(source)?.[1] ?? []);
  /** What files load as soon as they are there: each would be one more way to and fro. */
  const withImports = (some: readonly string[], known = new Set<string>()): Set<string> => {
    for (const source of some) if (!known.has(source)) withImports(chunks[source]?.imports ?? [], known.add(source));
    return known;
  };
  // The document's own script names these already.
  const common = withImports(sources.filter((source) => chunks[source]?.name === "app"));
  return {
    html,
    languages,
    preloads: (page, language) => {
      const own = page === "checkout" ? [] : [`pages/${page}.tsx`, getMessagesFile(language, page)];
      const first = [
        ...sources.filter((source) => chunks[source]?.name === "sale"),
        getMessagesFile(language, "checkout"),
        ...own,
      ];
      return [...withImports(first.filter((source) => source in chunks))]
        .filter((source) => !common.has(source))
        .map((source) => `<link rel="modulepreload" crossorigin href="/${chunks[source]?.file}">`)
        .join("");
    },
  };
}

/** The document with what one page says in it. JSON in a block of data is no script, whatever the policy allows. */
function fillDocument({ html, preloads }: Built, page: Filled, content: PageContent): string {
  const { lang, title, meta, shell, given, embedded, theme } = content;
  const root = `<html lang="${lang}"${theme ? ` data-theme="${theme}"` : ""}${embedded ? " data-embed" : ""}>`;
  const data = given
    ? `<script type="application/json" id="given">${JSON.stringify(given).replaceAll("<", "\\u003c")}</script>`
    : "";
  return html
    .replace(/<html[^>]*>/, () => root)
    .replace(/<title>.*<\/title>/, () => `${renderHead(title, meta)}${preloads(page, lang)}`)
    .replace('<div id="root"></div>', () => `<div id="root">${shell}</div>${data}`);
}

/** Serve the built web app: its files, and one document for every page. Only the checkout may be framed by others. */
export async function servePages(
  app: FastifyInstance,
  { root, development, stripe, isSignedIn }: PagesOptions,
): Promise<void> {
  let built: Promise<Built> | undefined;
  const readDocument = () => {
    built ??= readBuilt(root).catch((error) => {
      built = undefined;
      throw error;
    });
    return built;
  };
  const renderDocument = async (
    reply: FastifyReply,
    status: number,
    { ancestors = "'none'", styles = "", filled = undefined as string | undefined } = {},
  ) =>
    reply
      .code(status)
      .type("text/html; charset=utf-8")
      .header("Content-Security-Policy", buildPolicy({ ancestors, styles, stripe }))
      .header("Referrer-Policy", "strict-origin-when-cross-origin")
      .header("X-Content-Type-Options", "nosniff")
      // Each is somebody's own: a checkout, an account, a link from a mail.
      .header("X-Robots-Tag", "noindex")
      // A page that is filled holds what only its reader may see.
      .header("Cache-Control", filled === undefined ? "no-cache" : "private, no-store")
      .send(filled ?? (await readDocument()).html);
  await app.register(fastifyStatic, {
    root,
    index: false,
    wildcard: false,
    preCompressed: true,
    // It is a page, with what pages may do, and never a mere file.
    globIgnore: ["index.html*", manifestPath],
    setHeaders(reply, path) {
      reply.header("X-Content-Type-Options", "nosniff");
      // Names under assets/ carry a hash of their content.
      const hashed = path.includes(`${join(root, "assets")}`);
      reply.header("Cache-Control", hashed ? "public, max-age=31536000, immutable" : "public, max-age=300");
      if (/embed\.js(\.br|\.gz)?$/.test(path)) {
        reply.header("Access-Control-Allow-Origin", "*");
        reply.header("Cross-Origin-Resource-Policy", "cross-origin");
      }
    },
  });
  for (const path of pages) app.get(path, (_request, reply) => renderDocument(reply, 200));
  for (const path of checkoutPages) {
    app.get<{ Params: { client_secret: string } }>(path, async (request, reply) => {
      const read = await readDocument();
      const content = await readCheckoutPage(app, request, read.languages);
      const { status, ancestors } = content;
      return renderDocument(reply, status, { ancestors, filled: fillDocument(read, "checkout", content) });
    });
  }
  app.get<{ Params: { slug: string } }>("/:slug/portal", async (request, reply) => {
    const read = await readDocument();
    const content = await readPortalPage(app, request, read.languages);
    return renderDocument(reply, 200, { filled: content && fillDocument(read, "portal", content) });
  });
  for (const path of development ? developmentPages : []) {
    // Mails bring their styles along, and the inbox's frame inherits what its page may do.
    const styles = path === "/mail" ? " 'unsafe-inline'" : "";
    app.get(path, (request, reply) => renderDocument(reply, isFromHere(request) ? 200 : 404, { styles }));
  }
  app.get<{ Querystring: { error?: unknown } }>("/", async (request, reply) => {
    const { error } = request.query;
    // Links of mails lead here where nothing else was asked for, and say so when they fail.
    if (typeof error === "string" && error !== "")
      return reply.redirect(`/${isVerification(error) ? "verify-email" : "error"}?error=${encodeURIComponent(error)}`);
    if (await isSignedIn(request, reply)) {
      const read = await readDocument();
      return renderDocument(reply, 200, { filled: fillDocument(read, "home", buildHomePage(request, read.languages)) });
    }
    const read = await readDocument();
    const content = await readStorefrontPage(app, request, read.languages);
    if (content) return renderDocument(reply, 200, { filled: fillDocument(read, "storefront", content) });
    return reply.redirect(development && isFromHere(request) ? "/demo" : "/sign-in");
  });
  app.setNotFoundHandler((request, reply) => {
    const wantsPage =
      request.method === "GET" &&
      (request.headers.accept ?? "").includes("text/html") &&
      !/^\/(v1|api)\//.test(request.url);
    if (wantsPage) return renderDocument(reply, 404);
    return reply.code(404).send({ error: "ResourceNotFound", detail: "Not found" });
  });
}
