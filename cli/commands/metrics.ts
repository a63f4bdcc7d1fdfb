/** `floe metrics`: how the store does, drawn in the terminal, or as JSON. */
import type { Command } from "commander";
import type { MetricSlug } from "../../shared/api/metrics.ts";
import { metricIntervals } from "../../shared/calendar.ts";
import { splitRoute } from "../../shared/request.ts";
import * as routes from "../../shared/routes.ts";
import { type Context, listOrganizationsOfKey } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { addWatchFlag } from "../resource/flags.ts";
import { resolveNames } from "../resource/names.ts";
import { readIdOrName } from "../resource/shorthand.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { type Answer, drawMetrics } from "../ui/metrics.ts";
import { removeControls } from "../ui/theme.ts";

type Options = {
  interval?: string;
  from?: string;
  to?: string;
  timezone?: string;
  product?: string[];
  customer?: string[];
  billingType?: string;
  metrics?: string;
  watch?: number | true;
  open?: boolean;
};
type Query = Record<string, unknown> & { interval: string; timezone: string };

/** What is drawn where nothing is named. */
const standard: MetricSlug[] = [
  ...(["revenue", "net_revenue", "orders", "average_order_value"] as const),
  ...(["monthly_recurring_revenue", "active_subscriptions", "new_subscriptions", "canceled_subscriptions"] as const),
  ...(["churn_rate", "checkouts", "checkouts_conversion"] as const),
];
/** How many days are shown of each interval where no first day is named. */
const shownDays: Record<string, number> = { hour: 1, day: 30, week: 84, month: 365, year: 1826 };
const day_ms = 86_400_000;
const parseList = (text: string, before: string[] = []): string[] => [...before, ...text.split(",").filter(Boolean)];

/** `floe metrics` alone: it stands in its group as what is done where no other command is named. */
export function addShow(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("show", { isDefault: true })
    .description("Draw how the store does; `floe metrics` alone does so, too")
    .option("--interval <interval>", `${metricIntervals.join(", ")} (day)`)
    .option("--from <date>", "the first day: 2026-11-01")
    .option("--to <date>", "the last day (today, by the store's clock)")
    .option("--timezone <zone>", "in which days begin, as Europe/Paris (yours)")
    .option("--product <names>", "only these products, by name or id", parseList)
    .option("--customer <names>", "only these customers, by address or id", parseList)
    .option("--billing-type <type>", "only one_time or recurring products")
    .option("--metrics <slugs>", "only these: revenue,orders")
    .option("--open", "as a page with charts, in the browser")
    .addHelpText(
      "after",
      `
Examples:
  floe metrics
  floe metrics show --interval month --from 2026-01-01
  floe metrics --product Pro --metrics revenue,orders --watch
  floe metrics --open --interval month
  floe metrics --json totals.revenue,totals.orders`,
    );
  addWatchFlag(command);
  command.action((options: Options) => show(contextOf(command), options));
}

const day = /^\d{4}-\d{2}-\d{2}$/;
function getDate(flag: string, text: string): string {
  if (day.test(text) && new Date(`${text}T00:00:00Z`).toISOString().startsWith(text)) return text;
  throw new Fault("usage", `${flag} ${text} is not a day`, { hint: "For example: `floe metrics --from 2026-11-01`" });
}
/** The day that it is in a time zone, so many days ago. */
function formatDayIn(timeZone: string, at: number): string {
  return new Intl.DateTimeFormat("sv-SE", { timeZone, dateStyle: "short" }).format(new Date(at));
}

type About = { now: string; currency: string };
/** What time it is for the store, which in a sandbox may be ahead; null where no single one is asked about. */
async function loadAbout(context: Context): Promise<About | null> {
  try {
    return await request(context, routes.metrics.about, {});
  } catch (error) {
    // Several stores are counted together, or hosted Polar is asked, which has no such operation.
    if (error instanceof Fault && ["error", "not_found"].includes(error.kind)) return null;
    throw error;
  }
}

async function queryOf(context: Context, options: Options, about: () => Promise<About | null>): Promise<Query> {
  const { interval = "day", billingType, timezone = Intl.DateTimeFormat().resolvedOptions().timeZone } = options;
  if (!(interval in shownDays))
    throw new Fault("usage", `there is no interval ${interval}`, { hint: `There are: ${metricIntervals.join(", ")}` });
  try {
    formatDayIn(timezone, Date.now());
  } catch {
    throw new Fault("usage", `there is no time zone ${timezone}`, { hint: "For example: `--timezone Europe/Paris`" });
  }
  const from = options.from === undefined ? undefined : getDate("--from", options.from);
  const to = options.to === undefined ? undefined : getDate("--to", options.to);
  const end_date = to ?? formatDayIn(timezone, Date.parse((await about())?.now ?? new Date().toISOString()));
  const before = new Date(Date.parse(end_date) - ((shownDays[interval] ?? 1) - 1) * day_ms).toISOString().slice(0, 10);
  const start_date = from ?? before;
  const readNames = (group: string, list: string[] | undefined) => list?.map((name) => readIdOrName(group, name));
  const organization_id = await context.organization();
  return resolveNames(context, {
    ...{ start_date, end_date, interval, timezone },
    ...(organization_id && { organization_id }),
    ...(options.product && { product_id: readNames("products", options.product) }),
    ...(options.customer && { customer_id: readNames("customers", options.customer) }),
    ...(billingType && { billing_type: billingType }),
  } as Query);
}

async function getCurrency(context: Context): Promise<string | undefined> {
  try {
    const id = await context.organization();
    type Priced = { default_presentment_currency?: string };
    const [one] = id
      ? [await request(context, routes.organizations.get, { params: { id } })]
      : ((await listOrganizationsOfKey(context)) as Priced[]);
    return one?.default_presentment_currency;
  } catch (error) {
    // A key may be good for metrics alone.
    if (error instanceof Fault && error.kind === "not_permitted") return undefined;
    throw error;
  }
}

/** Where a browser here would be that of somebody else's screen. */
const isElsewhere = ({ SSH_CONNECTION, SSH_TTY }: Context["io"]["env"]): boolean => Boolean(SSH_CONNECTION || SSH_TTY);

/**
 * The same as a page, at an address that is good for some minutes. What is asked stands behind its #, which browsers send to
 * nobody. In a pipe, or where no browser is, the address is all there is.
 */
async function showPage(context: Context, options: Options): Promise<void> {
  for (const flag of ["watch", "metrics", "customer", "billingType"] as const) {
    const name = flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (options[flag] !== undefined) throw new Fault("usage", `--${name} is not for a page`, { hint: "Leave it out." });
  }
  // A last day that nobody named is the page's to say.
  const query = await queryOf(context, options, async () => null);
  const organization_id = await context.organization();
  const body = organization_id ? { organization_id } : {};
  const made = await request(context, routes.metrics.link, { body });
  const asked = new URLSearchParams();
  for (const [flag, name] of [
    ["interval", "interval"],
    ["from", "start_date"],
    ["to", "end_date"],
    ["timezone", "timezone"],
  ] as const)
    if (options[flag] !== undefined) asked.set(name, String(query[name]));
  for (const id of (query.product_id as string[] | undefined) ?? []) asked.append("product_id", id);
  const answer = { ...made, url: [made.url, ...(asked.size > 0 ? [asked] : [])].join("&") };
  if (context.json) {
    const { json } = context.globals;
    const fields =
      typeof json === "string" ? checkAskedFields(json, context.manifest.fields("metrics", "link")) : undefined;
    return showOne(context, answer, fields);
  }
  context.print(`${removeControls(answer.url)}\n`);
  context.say("Whoever has this address sees your metrics, for ten minutes.\n");
  if (!context.interactive || isElsewhere(context.io.env) || !/^https?:\/\//.test(answer.url)) return;
  await context.io
    .openBrowser(answer.url)
    .catch(() => context.say("The browser could not be opened; open the address yourself.\n"));
}

async function show(context: Context, options: Options): Promise<void> {
  if (options.open) return showPage(context, options);
  let told: Promise<About | null> | undefined;
  const describeSubject = () => {
    told ??= loadAbout(context);
    return told;
  };
  const query = await queryOf(context, options, describeSubject);
  const slugs = options.metrics === undefined ? undefined : parseList(options.metrics);
  const { json: asked } = context.globals;
  const fields =
    typeof asked === "string" ? checkAskedFields(asked, context.manifest.fields("metrics", "get")) : undefined;
  const currency = context.json ? undefined : ((await describeSubject())?.currency ?? (await getCurrency(context)));
  const draw = async (to: Context): Promise<void> => {
    const answer = (await to.call({
      ...splitRoute(routes.metrics.get),
      query: slugs || !to.json ? { ...query, metrics: slugs ?? standard } : query,
    })) as Answer;
    if (to.json) return showOne(to, answer, fields);
    const { interval, timezone } = query;
    const drawn = { answer, slugs: slugs ?? standard, currency, interval, timezone };
    to.print(`${drawMetrics(drawn, to.io.stdout.columns ?? 80, to.paint.out()).join("\n")}\n`);
  };
  if (!options.watch) return draw(context);
  return (await import("../resource/watch.ts")).watch(context, options.watch, draw);
}
