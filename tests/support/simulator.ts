/**
 * A whole shop through years, from one seed: a catalogue, buyers, subscriptions and what becomes of them, cards that are
 * declined, answers that get lost, receivers that fail, and servers that end in the middle of their work, two of them on one
 * database. The same seed is the same story. After every day on which something happened, the books are looked at.
 */

import { sql } from "drizzle-orm";
import { cleanupWorkers, dueWorkers, timeTravelWorkers } from "../../server/app/worker.ts";
import { type OpenDatabase, openPostgres } from "../../server/platform/db/database.ts";
import { findNext } from "../../server/platform/db/due.ts";
import { failedWork } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import type { Seller } from "./floe.ts";
import { openBooks } from "./simulated-books.ts";
import { openings, planStep, type Stage, type Step } from "./simulated-openings.ts";
import {
  cards,
  changes,
  chooseTerms,
  deeds,
  frailCard,
  kinds,
  moreKinds,
  offerDiscount,
  offerProduct,
  planSeat,
} from "./simulated-shop.ts";
import {
  doSingly,
  type Mortal,
  openChance,
  openFarProcessor,
  openReceiver,
  openSchedule,
  openServer,
  seedServer,
} from "./simulated-world.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const lateMs = 5 * 60_000;
/** Later than whenever it is run: accounts, which go by the system's clock, are made before. */
const began = new Date("2032-01-29T00:00:00Z");

/** What a simulation found, and how to see it again. */
export class SimulationFault extends Error {
  override readonly name = "SimulationFault";
  readonly log: readonly string[];
  constructor(seed: number, days: number, day: number, faults: readonly string[], log: readonly string[]) {
    const again = `node bench/simulate.mjs --from ${seed} --seeds 1 --days ${days}`;
    super(
      `Seed ${seed}, day ${day}:\n${faults.slice(0, 10).join("\n")}\n${log.slice(-12).join("\n")}\nAgain: ${again}`,
    );
    this.log = log;
  }
}

type Body = Record<string, unknown>;
type Answer = { status: number; json: Body };
type Buyer = { email: string; customer_id: string | null };

/** Errors that are a person's to look at, and are no fault here: the processor was out of reach, or takes a refund back. */
const isExpected = /The answer was lost|The processor was away|The processor did not give money back/;

const sweeps = new Map(dueWorkers.map((sweep) => [sweep.name, doSingly(sweep)]));

export type Simulation = {
  seed: number;
  days: number;
  databaseUrl: string;
  /** Hears each line of the story as it happens. */
  hear?: ((line: string) => void) | undefined;
};

/** Play a seed for so many days, on an empty and migrated database. Throws a SimulationFault with what is wrong. */
export async function simulate({
  seed,
  days,
  databaseUrl,
  hear,
}: Simulation): Promise<{ log: string[]; statements: number; crashes: number }> {
  const chance = openChance(seed);
  const unseed = seedServer(openChance(seed + 1));
  const schedule = openSchedule(chance, databaseUrl);
  const far = openFarProcessor(openChance(seed + 2));
  const receivers = [await openReceiver(openChance(seed + 3)), await openReceiver(openChance(seed + 4))];
  const observer: OpenDatabase = await openPostgres(databaseUrl, { connections: 1 });
  const log: string[] = [];
  let now = new Date();
  let crashes = 0;
  let day = 0;
  const servers: Mortal[] = [];
  const say = (text: string): void => {
    log.push(`${now.toISOString().slice(0, 16)} ${text}`);
    hear?.(log.at(-1) as string);
  };

  try {
    for (const _ of [0, 1]) servers.push(await openServer(databaseUrl, schedule, far, now));
    const seller: Seller = await (servers[0] as Mortal).floe.seller("simulated");
    const { organization_id, key } = seller;
    set(began);
    const books = openBooks(observer.db, organization_id, far, receivers);
    const buyers: Buyer[] = [];
    const products: { id: string; kind: string }[] = [];
    const discounts: { id: string; code: string }[] = [];
    const challenges: string[] = [];
    /** Who has a card that is good once, and refused from then on. */
    const frail = new Set<string>();
    /** Who is given back for less while another subscription of theirs has a card that will be refused, and how far that is. */
    let pressed = { email: "", bought: [] as string[], step: 0 };
    /** What is used, as it was sent: what got no answer is sent again. */
    const sent: Body[][] = [];
    let meter_id = "";
    /** Every other shop takes taxes, and its customers move; and each whose opening is about that. */
    const isTaxed = seed % 2 === 0 || seed % 5 === 1;
    /** Three of seven shops sell in more ways, and have seats given and taken. */
    const isWide = seed % 7 >= 2 && seed % 7 <= 4;
    const customer_billing_address = { country: "FR" };
    const open: { secret: string; buyer: Buyer; seats: boolean }[] = [];

    const at = (): Mortal => chance.pick(servers);
    /** A request at a server. What is not understood, or fails, is a fault. */
    async function send(
      { floe }: Mortal,
      method: string,
      path: string,
      body?: Body,
      more: { token?: string | null; once?: string } = {},
    ): Promise<Answer> {
      const token = more.token === undefined ? key : more.token;
      const { status, json, text } = await floe.request(method, path, {
        ...(token === null ? {} : { token }),
        ...(body ? { body } : {}),
        ...(more.once ? { headers: { "idempotency-key": more.once } } : {}),
      });
      if (status >= 500)
        throw new Error(
          `${method} ${path} ${JSON.stringify(body)}: ${status} ${text}\n${floe.logged.slice(-2).join("\n")}`,
        );
      return { status, json: json as Body };
    }
    async function must(method: string, path: string, body?: Body): Promise<Body> {
      const { status, json } = await send(servers[0] as Mortal, method, path, body);
      if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(json)}`);
      return json;
    }
    const list = async (path: string): Promise<Body[]> => (await must("GET", path)).items as Body[];

    const shop = () => ({ must, chance, meter_id });
    async function offer(kind: string): Promise<void> {
      products.push(await offerProduct(shop(), kind, products.length));
    }
    async function give(): Promise<void> {
      const limits = isWide && chance.happens(0.5) ? [chance.pick(products).id] : null;
      discounts.push(await offerDiscount(shop(), discounts.length, limits));
    }

    /** What somebody does, prepared from how the shop stands; the work itself may be cut off at any statement. */
    type Deed = { name: string; work: (server: Mortal) => Promise<string>; isQueued?: boolean };
    const short = ({ status, json }: Answer): string =>
      status < 300 ? String(status) : `${status} ${String(json.error ?? "")}`;
    async function confirm(server: Mortal, secret: string, body: Body): Promise<string> {
      const answer = await send(server, "POST", `/v1/checkouts/client/${secret}/confirm`, body, { token: null });
      const metadata = answer.json.payment_processor_metadata as Body | undefined;
      if (answer.status === 200 && metadata?.intent_client_secret)
        challenges.push(String(metadata.intent_client_secret));
      return short(answer);
    }
    function buy(wish?: {
      product: (typeof products)[number];
      card: string;
      email: string;
      code: string | null;
    }): Deed {
      const product = wish?.product ?? chance.pick(products);
      const isNew = wish !== undefined || buyers.length === 0 || chance.happens(0.5);
      const buyer: Buyer = isNew
        ? { email: wish?.email ?? `buyer-${buyers.length}@example.com`, customer_id: null }
        : chance.pick(buyers);
      if (isNew) buyers.push(buyer);
      const card = wish?.card ?? chance.weigh(cards);
      if (card === frailCard) frail.add(buyer.email);
      const isReduced = discounts.length > 0 && chance.happens(0.4);
      const code = wish ? wish.code : isReduced ? chance.pick(discounts).code : null;
      const chosen = chooseTerms(product.kind, chance);
      const isDropped = !wish && chance.happens(0.1);
      return {
        name: `buy ${product.kind} with ${card}${code ? ` and ${code}` : ""}`,
        async work(server) {
          const made = await send(server, "POST", "/v1/checkouts/", { products: [product.id], ...chosen });
          if (made.status >= 300) return short(made);
          const secret = String(made.json.client_secret);
          const path = `/v1/checkouts/client/${secret}`;
          const filled = await send(
            server,
            "PATCH",
            path,
            { customer_email: buyer.email, customer_billing_address, ...(code ? { discount_code: code } : {}) },
            { token: null },
          );
          if (isDropped) return "dropped";
          open.push({ secret, buyer, seats: product.kind === "seats" });
          return `${short(filled)}, ${await confirm(server, secret, { customer_email: buyer.email, customer_billing_address, confirmation_token_id: card })}`;
        },
      };
    }
    function payAgain(wish?: { card: string; isLate: boolean }): Deed | null {
      if (open.length === 0) return null;
      const one = open[Math.max(0, open.length - 1 - (wish ? 0 : chance.below(4)))];
      if (!one) return null;
      const card = wish?.card ?? chance.weigh(cards);
      return {
        name: `pay once more with ${card}${wish?.isLate ? ", which nobody hears of" : ""}`,
        work(server) {
          if (wish?.isLate) far.hideNext();
          return confirm(server, one.secret, {
            customer_email: one.buyer.email,
            customer_billing_address,
            confirmation_token_id: card,
          });
        },
      };
    }
    function approve(): Deed | null {
      const secret = challenges.splice(chance.below(Math.max(1, challenges.length)), 1)[0];
      if (!secret) return null;
      const approved = chance.happens(0.7);
      return {
        name: `answer a challenge with ${approved}`,
        async work(server) {
          const path = `/v1/payment-processor/test/intents/${secret}/authenticate`;
          return short(await send(server, "POST", path, { approved }, { token: null }));
        },
      };
    }
    async function change(): Promise<Deed | null> {
      const all = await list("/v1/subscriptions/?limit=100&sorting=started_at");
      const living = all.filter((one) => one.ended_at === null);
      if (living.length === 0) return null;
      const groups = {
        usual: living,
        unpaid: living.filter(({ status }) => status === "past_due"),
        paused: living.filter(({ status }) => status === "paused"),
        frail: living.filter(({ customer }) => frail.has(String((customer as Body).email))),
      };
      const weights = Object.entries(groups).map(([name, some]) => [name, name === "usual" ? 4 : some.length && 2]);
      const group = chance.weigh(Object.fromEntries(weights) as Record<keyof typeof groups, number>);
      const one = chance.pick(groups[group]);
      const proration_behavior = chance.pick(["invoice", "prorate", "next_period", "reset"]);
      const kind = chance.weigh<string>(changes[group]);
      const methods =
        kind === "card" ? await list(`/v1/customers/${String(one.customer_id)}/payment-methods?limit=100`) : [];
      const body = (): Body => {
        if (kind === "product") return { product_id: chance.pick(products).id, proration_behavior };
        if (kind === "seats") return { seats: 1 + chance.below(9), proration_behavior };
        if (kind === "cancel") return { cancel_at_period_end: true };
        if (kind === "uncancel") return { cancel_at_period_end: false };
        if (kind === "revoke") return { revoke: true };
        if (kind === "pause")
          return {
            pause_at_period_end: true,
            resumes_at: chance.happens(0.5)
              ? new Date(now.getTime() + (32 + chance.below(40)) * dayMs).toISOString()
              : null,
          };
        if (kind === "resume") return { resume: true };
        if (kind === "discount")
          return { discount_id: discounts.length > 0 && chance.happens(0.7) ? chance.pick(discounts).id : null };
        if (kind === "trial") return { trial_end: "now" };
        if (kind === "withdraw") return { pending_update: null };
        if (kind === "period")
          return {
            current_billing_period_end: new Date(now.getTime() + (1 + chance.below(20)) * dayMs).toISOString(),
          };
        return { payment_method_id: methods.length > 0 ? chance.pick(methods).id : one.id };
      };
      const sent = body();
      return {
        name: `change ${kind}${"proration_behavior" in sent ? ` ${proration_behavior}` : ""}`,
        work: async (server) => short(await send(server, "PATCH", `/v1/subscriptions/${String(one.id)}`, sent)),
      };
    }
    async function refund(isOfOne = false): Promise<Deed | null> {
      const all = await list("/v1/orders/?limit=100&sorting=-created_at");
      const left = all.filter((one) => Number(one.refundable_amount) > 0);
      if (left.length === 0) return null;
      const one = isOfOne ? (left.at(-1) as Body) : chance.pick(left);
      const whole = Number(one.refundable_amount);
      const amount = !isOfOne && chance.happens(0.4) ? whole : 1 + chance.below(isOfOne ? Math.ceil(whole / 3) : whole);
      const once = `refund-${seed}-${log.length}`;
      return {
        name: `refund ${amount} of ${whole}`,
        // Who does not hear what became of it asks again, by the same key.
        async work(server) {
          const body = { order_id: one.id, amount, reason: "customer_request" };
          return short(await send(server, "POST", "/v1/refunds/", body, { once }));
        },
      };
    }
    async function decide(): Promise<Deed | null> {
      const all = await list("/v1/disputes/?limit=100");
      const disputed = (await observer.db.execute(
        "select id, status from test_disputes order by created_at, id",
      )) as unknown as { id: string; status: string }[];
      const waiting = disputed.filter(({ status }) =>
        ["early_warning", "needs_response", "under_review"].includes(status),
      );
      if (all.length === 0 || waiting.length === 0) return null;
      const { id } = waiting[chance.below(waiting.length)] as { id: string };
      const status = chance.pick(["won", "lost", "under_review"] as const);
      return {
        name: `a bank decides: ${status}`,
        async work({ floe }) {
          await floe.deps.processor.test?.decideDispute(id, status);
          return "done";
        },
      };
    }
    async function look(): Promise<Deed> {
      const people = isTaxed ? await list("/v1/customers/?limit=100&sorting=created_at") : [];
      if (people.length > 0) {
        const { id } = chance.pick(people);
        const billing_address = { country: chance.pick(["FR", "DE", "CH"]) };
        const move = (server: Mortal) => send(server, "PATCH", `/v1/customers/${String(id)}`, { billing_address });
        return { name: `move to ${billing_address.country}`, work: async (server) => short(await move(server)) };
      }
      return {
        name: "look around",
        async work(server) {
          const found = await Promise.all(
            ["orders", "subscriptions", "customers"].map((name) => send(server, "GET", `/v1/${name}/?limit=3`)),
          );
          return found.map(short).join();
        },
      };
    }
    async function use(): Promise<Deed | null> {
      const living = (await list("/v1/subscriptions/?limit=100&sorting=started_at")).filter((one) => !one.ended_at);
      if (living.length === 0) return null;
      const again = sent.length > 0 && chance.happens(0.3);
      if (!again) {
        const number = sent.length;
        const ago = chance.happens(0.2) ? (1 + chance.below(40)) * dayMs : 0;
        sent.push(
          Array.from({ length: 1 + chance.below(6) }, (_, n) => ({
            ...{ name: "use", external_id: `use-${number}-${n}`, customer_id: chance.pick(living).customer_id },
            ...{ timestamp: new Date(now.getTime() - ago).toISOString(), metadata: { n: 1 + chance.below(90) } },
          })),
        );
      }
      const events = again ? chance.pick(sent) : (sent.at(-1) as Body[]);
      return {
        name: `use ${events.length}${again ? " again" : ""}`,
        isQueued: true,
        work: async (server) => short(await send(server, "POST", "/v1/events/ingest", { events })),
      };
    }
    /**
     * What seldom comes by chance, a step at a time: a subscription is paid, another begins with a card that will be refused, the
     * first is changed for less, and what is given back pays a part of what is then not paid; which ends, or is made up for.
     */
    async function press(): Promise<Deed | null> {
      const of = (...some: string[]) => chance.pick(products.filter(({ kind }) => some.includes(kind)));
      const take = (product: (typeof products)[number], card: string, code: string | null) => {
        pressed.bought.push(product.id);
        return buy({ product, card, email: pressed.email, code });
      };
      const all = await list("/v1/subscriptions/?limit=100&sorting=started_at");
      const own = all.filter(({ customer, ended_at }) => !ended_at && (customer as Body).email === pressed.email);
      const bad = own.find(({ product_id }) => product_id === pressed.bought[1]);
      const good = own.find((one) => one !== bad);
      pressed.step += 1;
      const unpaid = own.find(({ status }) => status === "past_due");
      if (pressed.email === "" || pressed.step > 8 || (pressed.step > 2 && own.length === 0))
        pressed = { email: `pressed-${log.length}@example.com`, bought: [], step: 1 };
      if (pressed.step === 1) return take(of(chance.weigh({ weekly: 4, monthly: 1, yearly: 1 })), "pm_card_visa", null);
      // A card has one trial; after that, the first period is for nothing.
      const isFirst = frail.size === 0;
      if (pressed.step === 2) return take(of(isFirst ? "trial" : "daily"), frailCard, isFirst ? null : "FIRST");
      const body = async (): Promise<Body | null> => {
        if (unpaid) {
          const kind = chance.weigh({ revoke: 3, cancel: 1, card: 1, wait: 1 });
          if (kind === "wait") return null;
          if (kind !== "card") return kind === "revoke" ? { revoke: true } : { cancel_at_period_end: true };
          const path = `/v1/customers/${String(unpaid.customer_id)}/payment-methods?limit=100`;
          const fine = (await list(path)).find(({ method_metadata }) => (method_metadata as Body).last4 !== "0341");
          return fine ? { payment_method_id: fine.id } : null;
        }
        if (pressed.step === 3) return { product_id: of("daily", "weekly", "free").id, proration_behavior: "invoice" };
        return bad?.status === "trialing" ? { trial_end: "now" } : null;
      };
      const one = unpaid ?? (pressed.step === 3 ? good : bad);
      const sent = one ? await body() : null;
      if (!one || !sent) return change();
      return {
        name: `press ${Object.keys(sent)[0]}`,
        work: async (server) => short(await send(server, "PATCH", `/v1/subscriptions/${String(one.id)}`, sent)),
      };
    }
    const ways = {
      ...{ approve, change, decide, look, use, press },
      ...{ buy: () => buy(), payAgain: () => payAgain(), refund: () => refund() },
      seat: () => planSeat<Mortal>({ chance, must, send: async (...sent) => short(await send(...sent)) }),
    };
    /** Steps of the opening that are left, and the address of whoever bought last in it. */
    const { steps = [], isCalm = false } = openings[seed % 5] ?? {};
    const begins: Step[] = [...steps];
    let opener = "";
    const stage: Stage = {
      ...{ products, list, send, email: () => opener, now: () => now },
      buy(wish) {
        opener = `opening-${begins.length}@example.com`;
        return buy({ ...wish, email: opener });
      },
      pay: payAgain,
      refund: () => refund(true),
      decide: (order_id, status) => ({
        name: `begin: a bank decides: ${status}`,
        async work({ floe }) {
          const [dispute] = (await observer.db.execute(sql`select d.id from test_disputes d
            join test_intents i on i.id = d.intent_id join payments p on p.id::text = i.payment_id::text
            where p.order_id = ${order_id}`)) as unknown as { id: string }[];
          if (dispute) await floe.deps.processor.test?.decideDispute(dispute.id, status);
          return dispute ? "done" : "nothing";
        },
      }),
    };

    /** Let one of them end at any of its next statements, now and then. */
    function threaten(share: number): void {
      for (const server of servers) {
        server.left = chance.happens(share) ? 1 + chance.below(60) : null;
        server.hears = chance.happens(0.5);
      }
    }
    /** In the place of a server that has ended comes another. */
    async function replace(): Promise<void> {
      for (const [index, server] of servers.entries()) {
        server.left = null;
        if (!server.isDead) continue;
        crashes += 1;
        say(`server ${index} ended`);
        servers[index] = await openServer(databaseUrl, schedule, far, now);
      }
    }
    function set(time: Date): void {
      now = time;
      for (const { floe } of servers) floe.clock.time = time;
    }
    const sweep = (server: Mortal, names: readonly string[]) => ({
      server,
      work: async () => {
        const rows = await runWorkers(
          server.floe.deps,
          names.flatMap((name) => sweeps.get(name) ?? []),
        );
        return `${names.join()}: ${rows}`;
      },
    });

    /** Do what falls due until then, at the times at which it does. */
    async function reach(until: Date): Promise<void> {
      for (let rounds = 0; ; rounds += 1) {
        const next = await findNext(observer.db, now, organization_id, timeTravelWorkers as never);
        const failed = await observer.db
          .select({ at: failedWork.retry_at, kind: failedWork.kind, error: failedWork.error })
          .from(failedWork);
        for (const { kind, error } of failed) if (rounds === 0) say(`${kind} was put off: ${error}`);
        const times = [
          ...next.map((one) => one.at),
          // What was put off until then, and is due later by its own row, says nothing.
          ...failed.flatMap(({ at }) => (at && at > now ? at : [])),
          ...(far.next() ? [far.next() as Date] : []),
        ];
        const soonest = times.reduce((least, time) => (time < least ? time : least), new Date(until.getTime() + 1));
        if (soonest > until) break;
        if (rounds > 500)
          throw new Error(
            `It does not come to rest: ${[...next.map((one) => `${one.name} ${one.at.toISOString()}`), ...failed.map((one) => `${one.kind} put off to ${one.at?.toISOString()}: ${one.error}`), `far ${far.next()?.toISOString()}`].join(", ")}`,
          );
        // A server comes to what is due some minutes late, and so to more of it at once.
        const late = new Date(Math.ceil(soonest.getTime() / lateMs) * lateMs);
        if (soonest > now) set(late < until ? late : until);
        if (far.next() && (far.next() as Date) <= now)
          say(`${await far.surface((servers[0] as Mortal).floe.deps, now)} charges come to light`);
        const names = next.filter((one) => one.at <= now).map((one) => one.name);
        const works = chance.happens(0.3) ? [0, 1] : [chance.below(2)];
        threaten(isCalm && begins.length > 0 ? 0 : 0.04);
        const due = names.length > 0 ? names : [...sweeps.keys()];
        const done = await schedule.together(works.map((index) => sweep(servers[index] as Mortal, due)));
        say(done.map((text, index) => `server ${works[index]} ${text ?? "was cut off"}`).join("; "));
        await replace();
      }
      set(until);
    }

    const own = await must("GET", `/v1/organizations/${organization_id}`);
    await must("PATCH", `/v1/organizations/${organization_id}`, {
      feature_settings: { ...(own.feature_settings as Body), seat_based_pricing_enabled: true },
      subscription_settings: { ...(own.subscription_settings as Body), allow_multiple_subscriptions: true },
    });
    const told = ["order.created", "order.updated", "order.paid", "order.refunded", "refund.created", "refund.updated"];
    // What a client of every version can read.
    const lived = ["created", "updated", "active", "canceled", "uncanceled", "revoked"].map(
      (name) => `subscription.${name}`,
    );
    // Without a version, statuses are those that the oldest clients can read.
    const api_version = "2026-10";
    for (const { url } of receivers)
      await must("POST", "/v1/webhooks/endpoints", { url, format: "raw", events: [...told, ...lived], api_version });
    const counted = { property: "name", operator: "eq", value: "use" };
    const meter = { name: "Use", filter: { conjunction: "and", clauses: [counted] } };
    meter_id = String(
      (await must("POST", "/v1/meters/", { ...meter, aggregation: { func: "sum", property: "n" } })).id,
    );
    for (const country of isTaxed ? ["FR", "DE"] : []) await must("POST", "/v1/tax/registrations/", { country });
    const sold = Object.keys(isWide ? { ...kinds, ...moreKinds } : kinds);
    for (const kind of sold) await offer(kind);
    // To and fro between two prices of one meter.
    if (seed % 5 === 1) await offer("metered");
    await give();
    // Whose first period costs nothing may have a card that pays nothing.
    const free: Body = { name: "First", code: "FIRST", type: "percentage", basis_points: 10_000, duration: "once" };
    await must("POST", "/v1/discounts/", free);
    if (begins.length > 0)
      await must("POST", "/v1/discounts/", {
        ...free,
        name: "Third",
        code: "THIRD",
        basis_points: 3333,
        duration: "forever",
      });

    for (day = 1; day <= days; day += 1) {
      const start = new Date(began.getTime() + (day - 1) * dayMs);
      const before = log.length;
      if (chance.happens(0.04)) await offer(chance.pick(sold));
      if (chance.happens(0.04)) await give();
      const share = chance.happens(0.1) ? 0.5 : 0.02;
      far.trouble(isCalm && begins.length > 0 ? 0 : share);
      for (const receiver of receivers) receiver.trouble(chance.happens(0.1) ? 0.8 : 0.05);
      for (let left = Math.max(chance.below(4), begins.length); left > 0; left -= 1) {
        const next = new Date(start.getTime() + chance.below(23) * hourMs);
        // A checkout that is paid in vain does not stay open for long.
        await reach(begins.length > 0 ? new Date(now.getTime() + 2 * lateMs) : next > now ? next : now);
        const planned: Deed[] = [];
        const first = begins.shift();
        const opened = first && (await planStep(stage, first, begins.length));
        if (opened) planned.push(opened);
        for (let side = isCalm && first ? 0 : 1 + chance.below(3); side > 0; side -= 1) {
          const deed = await ways[chance.weigh({ ...deeds, seat: isWide ? 4 : 0 })]();
          if (deed) planned.push(deed);
        }
        // Twice the same at once, as by a button that is pressed twice.
        if (planned[0] && chance.happens(0.15)) planned.push(planned[0]);
        threaten(isCalm && first ? 0 : 0.12);
        const due = chance.happens(0.3) ? [sweep(at(), [...sweeps.keys()])] : [];
        // What comes to one server at once is written by one of those who bring it, and the schedule would wait for the others.
        const queues = chance.happens(0.5) ? [...servers] : servers.toReversed();
        const placed = planned.flatMap((deed) => {
          const server = deed.isQueued ? queues.pop() : at();
          return server ? [{ ...deed, server }] : [];
        });
        const works = [...placed.map(({ work, server }) => ({ server, work: () => work(server) })), ...due];
        const results = await schedule.together(works);
        for (const [index, deed] of placed.entries()) say(`${deed.name}: ${results[index] ?? "was cut off"}`);
        await replace();
        for (const [index, deed] of placed.entries())
          if (results[index] === null && deed.name.startsWith("refund"))
            say(`asked again, ${deed.name}: ${await deed.work(servers[0] as Mortal)}`);
      }
      await reach(new Date(start.getTime() + dayMs));
      if (day % 30 === 0) await runWorkers((servers[0] as Mortal).floe.deps, cleanupWorkers);
      if (log.length === before) continue;
      const faults = await books.check(now);
      const errors = servers.flatMap(({ floe }) =>
        floe.logged.splice(0).filter((line) => line.startsWith("error") && !isExpected.test(line)),
      );
      if (faults.length + errors.length > 0) throw new SimulationFault(seed, days, day, [...faults, ...errors], log);
      if (day % 30 === 0) say(`day ${day}: ${await books.count()}`);
    }
    say(await books.count());
    return { log, statements: schedule.count(), crashes };
  } catch (error) {
    if (error instanceof SimulationFault) throw error;
    throw new SimulationFault(seed, days, day, [String((error as Error).stack)], log);
  } finally {
    unseed();
    await Promise.all(servers.filter(({ isDead }) => !isDead).map(({ floe }) => floe.close()));
    for (const receiver of receivers) await receiver.close();
    await observer.close();
    await schedule.close();
  }
}
