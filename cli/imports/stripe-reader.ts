/** Reads a Stripe account, page by page, for a shop that moves here. It only ever asks: nothing is written at Stripe. */
import type Stripe from "stripe";
import { isLoopbackUrl } from "../../shared/loopback.ts";
import { Fault } from "../fault.ts";
import { pause } from "../pause.ts";
import type { StripeShop } from "./stripe-rows.ts";

const usualUrl = "https://api.stripe.com";
/** The version of the answers that `stripe-rows.ts` reads. */
const version = "2026-08-26.dahlia";
const pageRows = 100;
/** As many rows as an import has. */
const rowsMax = 500_000;
const bytesMax = 20 * 1024 * 1024;
const usualTimeoutMs = 30_000;
const attemptsMax = 6;
const waitMaxMs = 30_000;
/** Stripe asks readers to make no more than a part of its 100 requests a second. */
const betweenMs = 40;

/** `signal` ends the reading: Ctrl-C and SIGTERM. */
export type StripeAccess = {
  key: string;
  url?: string | undefined;
  waitMs?: number;
  timeoutMs?: number;
  signal: AbortSignal;
};
type Onward = (kind: string, count: number) => void;

/** The key as it was given; `isLive` says of what its account's data are. */
export function checkStripeKey(key: string): { isLive: boolean } {
  const found = /^(?:rk|sk)_(live|test)_[A-Za-z0-9_]{1,250}$/.exec(key);
  if (!found)
    throw new Fault("usage", "this is no key of Stripe's API", {
      hint: "Make a restricted key with read rights: https://dashboard.stripe.com/apikeys. It begins with rk_live_ or rk_test_.",
    });
  return { isLive: found[1] === "live" };
}

function checkUrl(url: string): string {
  if (url === usualUrl || isLoopbackUrl(url)) return url.replace(/\/$/, "");
  throw new Fault("usage", "FLOE_IMPORT_STRIPE_URL is not an address of this machine: the key would go elsewhere");
}

/** The body of an answer, as long as it is no longer than a page of Stripe can be. */
async function readBody(response: Response): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of response.body ?? []) {
    size += part.byteLength;
    if (size > bytesMax) throw new Fault("error", "Stripe's answer is too long");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}

type Answer = { status: number; text: string; retryAfterMs: number | null };
/** One answer; undefined where there is none. */
async function getAnswer(
  address: URL,
  { key, timeoutMs = usualTimeoutMs, signal }: StripeAccess,
): Promise<Answer | undefined> {
  try {
    const response = await fetch(address, {
      headers: { authorization: `Bearer ${key}`, "stripe-version": version, accept: "application/json" },
      redirect: "error",
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    const after = Number(response.headers.get("retry-after") ?? Number.NaN);
    const text = await readBody(response);
    return { status: response.status, text, retryAfterMs: Number.isFinite(after) ? after * 1000 : null };
  } catch (error) {
    if (error instanceof Fault) throw error;
    return undefined;
  }
}

function parseAnswer(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** What a refusal means, without the key that Stripe may repeat in it. */
function describeRefusal(path: string, status: number): Fault {
  if (status === 401) return new Fault("usage", "Stripe does not know this key: it is wrong, or was revoked");
  if (status === 403)
    return new Fault("usage", `the key has no right to read ${path}`, {
      hint: "Give it at https://dashboard.stripe.com/apikeys: read Products, Prices, Customers, Tax IDs, Subscriptions and Invoices.",
    });
  return new Fault("error", `Stripe answered ${status} to ${path}; nothing was created`);
}

/** Ask until there is an answer, and not for ever. */
async function get(access: StripeAccess, path: string, query: [string, string][]): Promise<Record<string, unknown>> {
  const address = new URL(`v1/${path}`, `${checkUrl(access.url ?? usualUrl)}/`);
  for (const [name, value] of query) address.searchParams.append(name, value);
  for (let attempt = 1; ; attempt += 1) {
    const answer = await getAnswer(address, access);
    if (access.signal.aborted)
      throw new Fault(access.signal.reason === "SIGTERM" ? "terminated" : "interrupted", "stopped");
    const json = answer && parseAnswer(answer.text);
    if (answer?.status === 200 && json) return json;
    const isWorthRepeating = !answer || answer.status === 429 || answer.status >= 500;
    if (!isWorthRepeating && answer.status !== 200) throw describeRefusal(path, answer.status);
    if (!isWorthRepeating || attempt === attemptsMax)
      throw new Fault("error", describeSilence(path, answer), {
        hint: "Nothing was created. Run the same command again.",
      });
    const waitMs = (access.waitMs ?? 1000) * 2 ** (attempt - 1);
    await pause(Math.min(answer?.retryAfterMs ?? waitMs, waitMaxMs), access.signal);
  }
}

function describeSilence(path: string, answer: Answer | undefined): string {
  if (!answer) return `Stripe cannot be reached, or does not answer (${path})`;
  return answer.status === 200
    ? `what answers ${path} is not Stripe's API`
    : `Stripe answered ${answer.status} to ${path}, ${attemptsMax} times`;
}

type Identified = { id: string };
const isPage = (json: Record<string, unknown>): json is { data: Identified[]; has_more: boolean } =>
  Array.isArray(json.data) &&
  typeof json.has_more === "boolean" &&
  json.data.every((one) => typeof (one as Identified | null)?.id === "string");

/** All things of a list. A list that repeats itself, or never ends, is refused. */
async function readAll<T extends Identified>(
  access: StripeAccess,
  path: string,
  query: [string, string][],
  onward: Onward,
): Promise<T[]> {
  const all: T[] = [];
  const known = new Set<string>();
  for (let after: string | undefined; ; ) {
    const page: [string, string][] = [
      ...query,
      ["limit", String(pageRows)],
      ...(after ? [["starting_after", after] as [string, string]] : []),
    ];
    const json = await get(access, path, page);
    if (!isPage(json)) throw new Fault("error", `what answers ${path} is not Stripe's API`);
    const fresh = json.data.filter(({ id }) => !known.has(id));
    for (const { id } of fresh) known.add(id);
    all.push(...(fresh as T[]));
    onward(path, fresh.length);
    if (!json.has_more) return all;
    if (fresh.length === 0) throw new Fault("error", `the list ${path} of Stripe repeats itself`);
    if (all.length > rowsMax) throw new Fault("error", `${path} has more than ${rowsMax} rows`);
    after = json.data.at(-1)?.id;
    if (access.waitMs === undefined) await pause(betweenMs, access.signal);
  }
}

/** Everything of an account that a move needs. */
export async function readStripe(access: StripeAccess, onward: Onward): Promise<StripeShop> {
  const { isLive } = checkStripeKey(access.key);
  const read = <T extends Identified>(path: string, query: [string, string][] = []) =>
    readAll<T>(access, path, query, onward);
  const shop: StripeShop = {
    products: await read<Stripe.Product>("products"),
    prices: await read<Stripe.Price>("prices", [["type", "recurring"]]),
    customers: await read<Stripe.Customer>("customers", [["expand[]", "data.tax_ids"]]),
    // Without a status, those that are not canceled.
    subscriptions: await read<Stripe.Subscription>("subscriptions"),
    pending: await read<Stripe.InvoiceItem>("invoiceitems", [["pending", "true"]]),
  };
  const other = [...shop.subscriptions, ...shop.customers].find(({ livemode }) => livemode !== isLive);
  if (other) throw new Fault("error", `Stripe answered ${other.id} of the other mode than the key's`);
  return shop;
}
