/** The account side alone on a listening server, with products behind it: small enough to count its queries. */
import { PGlite } from "@electric-sql/pglite";
import { drizzle } from "drizzle-orm/pglite";
import Fastify from "fastify";
import { createServer } from "node:net";
import { createAuth } from "../../server/auth/auth.ts";
import { completeConfig, readSettings } from "../../server/config.ts";
import { answerError } from "../../server/http/errors.ts";
import { mount } from "../../server/http/mount.ts";
import { parseRequests } from "../../server/http/parsing.ts";
import { parseQuery } from "../../server/http/query.ts";
import type { Deps } from "../../server/lib/context.ts";
import { openEmbedded } from "../../server/lib/database.ts";
import { newId } from "../../server/lib/ids.ts";
import { openJobs } from "../../server/lib/jobs.ts";
import { sendMail } from "../../server/lib/mail.ts";
import { productService } from "../../server/products/service.ts";
import { products } from "../../shared/api/products.ts";

export type Answer = { status: number; json: never; text: string; headers: Headers };
export type Asked = { token?: string; cookie?: string; body?: unknown; headers?: Record<string, string> };
export type Person = { email: string; password: string; user_id: string; organization_id: string; session: string };
export type Accounts = Awaited<ReturnType<typeof startAccounts>>;

const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once("error", reject);
    probe.listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() => (address && typeof address === "object" ? resolve(address.port) : reject(new Error("no port"))));
    });
  });

/** Start it. `settings` are environment variables. */
export async function startAccounts(settings: Record<string, string> = {}) {
  const port = await freePort();
  const given = { PORT: String(port), FLOE_SECRET: "a secret for tests, long enough to be one", ...settings };
  const config = completeConfig(readSettings(given, {}));
  const queries: string[] = [];
  const client = await PGlite.create();
  const database = await openEmbedded(client);
  await database.migrate("server/migrations");
  const db = drizzle({ client, logger: { logQuery: (query) => void queries.push(query) } });
  const logged: string[] = [];
  const write = (level: string) => (fields: object, text?: string) => {
    const error = "err" in fields && fields.err instanceof Error ? `${fields.err.stack} ${String(fields.err.cause ?? "")}` : "";
    logged.push(`${level} ${text ?? ""} ${JSON.stringify(fields)} ${error}`);
    if (level === "error" && process.env.FLOE_TEST_LOG) console.error(logged.at(-1));
  };
  const log = { info: write("info"), warn: write("warn"), error: write("error") };
  const jobs = await openJobs(database.queue, (error) => log.error({ err: error }));
  let moved_ms = 0;
  const clock = { now: () => new Date(Date.now() + moved_ms), advance: (ms: number) => void (moved_ms += ms) };
  const processor = new Proxy({} as Deps["processor"], { get: () => { throw new Error("Accounts do not pay."); } });
  const deps: Deps = { db, clock, config, jobs, processor, log };
  const auth = createAuth(deps);
  const app = Fastify({ trustProxy: config.TRUST_PROXY ?? false, genReqId: newId, routerOptions: { ignoreTrailingSlash: true, querystringParser: parseQuery, maxParamLength: 500 } });
  app.setErrorHandler(answerError(log));
  await app.register(async (scope) => auth.routes(scope));
  await app.register(async (scope) => {
    parseRequests(scope);
    mount(scope, { products }, { products: productService } as never, deps, auth.identify);
  });
  await app.listen({ host: "127.0.0.1", port });

  const request = async (method: string, path: string, { token, cookie, body, headers = {} }: Asked = {}): Promise<Answer> => {
    const sent = new Headers(headers);
    if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
    if (cookie !== undefined) sent.set("cookie", cookie);
    if (body !== undefined && !sent.has("content-type")) sent.set("content-type", "application/json");
    const payload = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(new URL(path, config.url), { method, headers: sent, body: payload, redirect: "manual" });
    const text = await answer.text();
    const isJson = (answer.headers.get("content-type") ?? "").includes("json") && text !== "";
    return { status: answer.status, json: (isJson ? JSON.parse(text) : undefined) as never, text, headers: answer.headers };
  };
  let browsers = 0;
  return {
    app,
    url: config.url,
    deps,
    auth,
    clock,
    logged,
    queries,
    request,
    /** A person with an organization of their own. */
    async person(name = "seller"): Promise<Person> {
      const unique = newId().slice(-12);
      const account = { email: `${name}-${unique}@example.com`, password: `correct horse ${unique}` };
      return { ...account, ...(await auth.signUpSeller({ ...account, name, organizationName: `${name} ${unique}`, slug: `${name}-${unique}` })) };
    },
    /** Sign in as a browser does; answers the cookies. */
    async browser({ email, password }: { email: string; password: string }): Promise<string> {
      // From an address of its own (where a proxy is trusted), so that the limit of sign-ins does not count.
      const headers = { origin: config.url, "x-forwarded-for": `10.9.${(browsers += 1) >> 8}.${browsers & 255}` };
      const answer = await request("POST", "/api/auth/sign-in/email", { body: { email, password }, headers });
      if (answer.status !== 200) throw new Error(`No sign-in: ${answer.status} ${answer.text}`);
      return answer.headers.getSetCookie().map((one) => one.split(";")[0]).join("; ");
    },
    /** Send what waits to be sent. */
    async sendMails(): Promise<number> {
      const none = async () => {};
      return jobs.drain(deps, { "events.dispatch": none, "webhooks.deliver": none, "checkouts.settle": none, "mails.send": sendMail });
    },
    deliver: (mail_id: string) => sendMail(deps, { mail_id }),
    async close() {
      await app.close();
      await auth.close();
      await jobs.stop();
      await database.close();
    },
  };
}
