// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source
import { nameFaults } from "./name-faults.mjs";

const seats = ["tests/web/seats.long.test.ts"];
const portal = ["tests/web/portal.long.test.ts"];
const home = ["tests/web/home.test.ts"];
const legal = ["tests/web/legal.test.ts"];
const sections = ["tests/web/portal-sections.long.test.ts"];
const terms = ["tests/web/terms.test.ts"];
const documents = ["tests/rules/invoices.test.ts"];
const confirming = ["tests/web/confirmation.long.test.ts"];
const failures = ["tests/web/open-checkout.long.test.ts"];

/** Faults of the pages, with the tests that must see them. */
export const pageFaults = {
  ...nameFaults,
  "after the payment": [
    ["two buttons lead on", "web/portal/Purchase.tsx", "isAside: true", "isAside: false", ...confirming],
    ["connecting is never loud", "web/portal/Account.tsx", "quiet={isAside || (", "quiet={true || (", ...confirming],
    [
      "a purchase that is elsewhere is not told of",
      "web/pages/confirmation.tsx",
      "return <p>{messages.in_purchases}</p>;",
      "return null;",
      ...confirming,
    ],
    ["use of a key stands nowhere", "web/portal/Benefits.tsx", "      {children}\n", "", ...confirming],
    [
      "a seller's name is broken on a telephone",
      "web/portal.css",
      "  .shell .seller {\n    flex-basis: 100%;\n  }\n",
      "",
      ...portal,
    ],
  ],
  "failed pages": [
    [
      "a failed page after a payment is called an error",
      "web/pages/failure.tsx",
      'if (status === "succeeded") return [messages.paid, messages.paid_how] as const;',
      "",
      ...failures,
    ],
    [
      "a failed page does not follow the payment",
      "web/pages/failure.tsx",
      "if (isPending && tries < triesMax)",
      "if (isPending && tries < 1)",
      ...failures,
    ],
    [
      "the page for failures is not loaded ahead",
      "web/main.tsx",
      "setTimeout(() => void loadFailurePage().catch(() => undefined), failureDelayMs);",
      "void loadFailurePage;",
      ...failures,
    ],
    [
      "a failed page stays when another is opened",
      "web/router.tsx",
      "<Boundary key={page.path}>",
      "<Boundary>",
      ...failures,
    ],
    [
      "the page for failures speaks English alone",
      "web/pages/failure.tsx",
      'const codes = [lang === "en" ? "" : lang, language, "en"]',
      'const codes = [lang === "en" ? "" : "", language && "en"]',
      ...failures,
    ],
  ],
  "mails and commands": [
    [
      "a mail shows the whole token",
      "server/platform/mail-transport/email-layout.ts",
      "url.length <= shownUrlMax ? url :",
      "url.length > 0 ? url :",
      "tests/web/letters.test.ts",
    ],
    [
      "commands name a customer by id",
      "web/pages/home-customer.tsx",
      "const named = customer?.email ?? id;",
      "const named = id;",
      ...home,
    ],
  ],
  "legal form": [
    [
      "the form writes over what was changed elsewhere",
      "web/home/calls.ts",
      '...(etag && { "if-match": etag })',
      "",
      ...home,
    ],
    ["the tag of what was read is lost", "web/use-query.ts", "setEtag(answer.etag);", "", ...home],
    [
      "a role that changes nothing sees the form",
      "web/pages/home.tsx",
      '!isNew && scopes.includes("organizations:write")',
      "!isNew",
      ...home,
    ],
    [
      "the focus is lost where the form closes",
      "web/home/Legal.tsx",
      'state === "saved" || state === "left"',
      'state === "left"',
      ...home,
    ],
    [
      "an address without https is sent",
      "web/home/LegalForm.tsx",
      "if (urls.length > 0) {",
      "if (urls.length > 9) {",
      ...home,
    ],
    ["every detail is sent", "web/home/legal.ts", "before[field] !== after[field].trim()", "true", ...legal],
    [
      "a blank field keeps its detail",
      "web/home/legal.ts",
      "after[field].trim() || null",
      "after[field].trim() || before[field]",
      ...legal,
    ],
    [
      "a quotation mark ends the word",
      "shared/shell.ts",
      "text.replaceAll(\"'\", String.raw`'\\''`)",
      "text",
      ...legal,
    ],
  ],
  "portal sections": [
    [
      "a section does not follow the address",
      "web/portal/use-section.ts",
      "useSyncExternalStore(subscribe, readHash)",
      "useRef(readHash()).current",
      ...sections,
    ],
    [
      "the focus stays on the link of a section",
      "web/portal/use-section.ts",
      "heading?.focus({ preventScroll: true });",
      "",
      ...sections,
    ],
    [
      "the page moves the focus on arrival",
      "web/portal/use-section.ts",
      "shown.current !== undefined",
      "true",
      ...sections,
    ],
    [
      "a part of a section is not found by its name",
      "web/portal/use-section.ts",
      "id === wanted || parts.includes(wanted)",
      "id === wanted",
      ...sections,
    ],
    [
      "a later part is left below the screen",
      "web/portal/use-section.ts",
      "part.scrollIntoView();",
      "part.id;",
      ...sections,
    ],
    [
      "a section forgets what was begun in it",
      "web/portal/Home.tsx",
      "(id === currentId || visited.includes(id))",
      "id === currentId",
      ...sections,
    ],
    ["hidden sections are shown", "web/portal/Home.tsx", " hidden={id !== currentId}", "", ...sections],
    ["a link's section is forgotten", "web/pages/portal.tsx", 'fragment.get("show") ?? ""', '""', ...sections],
    [
      "the mail of a purchase leads to the orders",
      "server/messaging/email/order.ts",
      'return hasDelivery && seats === null ? "benefits" : "orders";',
      'return "orders";',
      ...sections,
    ],
    [
      "connecting an account leads to no benefits",
      "web/pages/portal.tsx",
      'if (query.has("connected") || query.has("error")) return "benefits";',
      "void query;",
      ...portal,
    ],
  ],
  "the portal": [
    [
      "a customer leaves the group of plans",
      "server/portal/subscriptions.ts",
      "if (group && !group.includes(product_id))",
      "if (group && product_id === current)",
      "tests/api/portal.test.ts",
    ],
    [
      "plans that cannot be compared are offered",
      "web/portal/ChangePlan.tsx",
      "!grouped.has(product.id) && isComparable(product, subscription)",
      "!grouped.has(product.id)",
      ...terms,
    ],
    [
      "plans of a group are in the order of the catalog",
      "web/portal/ChangePlan.tsx",
      "return group.flatMap((id) => plans.find((product) => product.id === id) ?? []);",
      "return plans.filter(({ id }) => group.includes(id));",
      ...terms,
    ],
    [
      "the portal keeps to the browser's language",
      "web/pages/portal.tsx",
      "if (visitor.locale) setLocale(visitor.locale);",
      "",
      ...portal,
    ],
    [
      "use of an ended subscription costs something",
      "web/portal/levels.ts",
      "if (over.has(status) || !isPriced || counted.length === 0) return [];",
      "if (!isPriced || counted.length === 0) return [];",
      ...terms,
    ],
    [
      "use is charged with the period of the plan",
      "web/portal/levels.ts",
      "charged_at: current_meter_period_end ?? current_period_end",
      "charged_at: current_period_end",
      ...terms,
    ],
    [
      "the keyboard is lost with the form of the billing details",
      "web/portal/Billing.tsx",
      'if (state !== "shown") card',
      'if (state === "edited") card',
      ...portal,
    ],
  ],
  "seats on pages": [
    ["a paid back order has seats", "web/portal/Orders.tsx", ' && paid && status !== "refunded"', " && paid", ...seats],
    [
      "seats of a one-time order are of no order",
      "web/portal/Purchase.tsx",
      "{ order_id: id }",
      '{ subscription_id: "" }',
      ...seats,
    ],
    [
      "the number of seats decides",
      "web/portal/Seats.tsx",
      "value.available_seats > 0 && (",
      "value.total_seats > 1000 && (",
      ...seats,
    ],
    [
      "a page takes the rules of another",
      "web/home.css",
      ".home-facts dt",
      ".facts dt",
      "tests/web/style-sheets.test.ts",
    ],
  ],
  "the last metre": [
    [
      "a seller's color is that of texts",
      "web/accent.ts",
      '"--button": color,',
      '"--button": color, "--accent": color,',
      ...portal,
    ],
    [
      "legal details that are set are missing",
      "server/operations/overview/service.ts",
      "legalDetails.filter((name) => !details[name])",
      "legalDetails.filter((name) => name in details)",
      "tests/api/overview.test.ts",
    ],
    [
      "a tax number alone is asked for",
      "web/home/Legal.tsx",
      'all.every((detail) => detail === "tax_id")',
      "all.length >= 0",
      "tests/web/home.test.ts",
    ],
    [
      "a trial has its price twice",
      "web/parts/Summary.tsx",
      "checkout.trial_end && all.length === 1",
      "checkout.trial_end && all.length === 0",
      "tests/web/checkout.long.test.ts",
    ],
  ],
  "formats of documents": [
    [
      "a document ignores the country of its reader",
      "shared/formats.ts",
      "if (country !== null && getMessages(language).regions.includes(country)) return `${language}-${country}`;",
      "",
      ...documents,
    ],
    [
      "a country that is none becomes a format",
      "shared/formats.ts",
      "region && (countries as readonly string[]).includes(region)",
      "region",
      ...documents,
    ],
    [
      "a page of another language takes the formats of the reader's own",
      "shared/formats.ts",
      "if (own === language && region",
      "if (region",
      ...documents,
    ],
    [
      "a document says nothing of its formats",
      "server/billing/invoices/rules.ts",
      "...(formats === resolveFormats(null, null, language) ? {} : { formats }),",
      "",
      "tests/api/invoices.test.ts",
    ],
    [
      "the dates of a page are those of its language",
      "server/billing/invoices/page.ts",
      'new Intl.DateTimeFormat(formats, { dateStyle: "long"',
      'new Intl.DateTimeFormat(document.language, { dateStyle: "long"',
      ...documents,
    ],
    [
      "the rates of a page are those of its language",
      "server/billing/invoices/sums.ts",
      "const formatAmount = (amount: number) => formatMoney(amount, currency, formats);",
      "const formatAmount = (amount: number) => formatMoney(amount, currency, document.language);",
      ...documents,
    ],
  ],
};
