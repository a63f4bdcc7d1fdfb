/** A listening floe for tests of accounts: really fetched from, with cookies, its queries counted. */
import type { Deps } from "../../server/platform/context.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { mailWorker, sendMail } from "../../server/platform/mail-transport/mail.ts";
import { type FloeOptions, type Seller, start } from "./floe.ts";
import { checkRefusal } from "./refusals.ts";
import { logStatements } from "./statements.ts";

export type Answer = { status: number; json: never; text: string; headers: Headers };
export type Asked = { token?: string; cookie?: string; body?: unknown; headers?: Record<string, string> };
export type Accounts = Awaited<ReturnType<typeof startAccounts>>;

let addresses = 0;
/** An address that no other call of this process came from: limits are kept for each. */
export function newAddress(): string {
  addresses += 1;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}

/** The cookies that an answer sets, as a browser sends them back. */
export const cookiesOf = (answer: Answer): string =>
  answer.headers
    .getSetCookie()
    .map((one) => one.split(";")[0])
    .join("; ");

/** Start it. `settings` are environment variables; `more` replaces shared parts, such as the clock. */
export async function startAccounts(
  settings: Record<string, string> = {},
  more: Partial<Deps> = {},
  options: Pick<FloeOptions, "productionPasswords" | "databaseUrl"> = {},
) {
  const queries: string[] = [];
  const floe = await start({
    listen: true,
    realTime: true,
    ...options,
    settings,
    replace: ({ db }) => ({ db: logStatements(db, (statement) => void queries.push(statement)), ...more }),
  });
  const { deps, url } = floe;

  const request = async (
    method: string,
    path: string,
    { token, cookie, body, headers = {} }: Asked = {},
  ): Promise<Answer> => {
    const sent = new Headers(headers);
    if (token !== undefined) sent.set("authorization", `Bearer ${token}`);
    if (cookie !== undefined) sent.set("cookie", cookie);
    if (body !== undefined && !sent.has("content-type")) sent.set("content-type", "application/json");
    const payload = body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body);
    const answer = await fetch(new URL(path, url), { method, headers: sent, body: payload, redirect: "manual" });
    const text = await answer.text();
    const isJson = (answer.headers.get("content-type") ?? "").includes("application/json") && text !== "";
    const json = (isJson ? JSON.parse(text) : undefined) as never;
    checkRefusal(path, answer.status, json);
    return {
      status: answer.status,
      json,
      text,
      headers: answer.headers,
    };
  };
  return {
    ...floe,
    queries,
    request,
    /** One call from our own page, from an address of its own so that limits of other tests do not count. */
    page: (
      method: string,
      path: string,
      body?: unknown,
      cookie?: string,
      headers: Record<string, string> = {},
    ): Promise<Answer> =>
      request(method, `/api/auth${path}`, {
        ...(body === undefined ? {} : { body }),
        ...(cookie === undefined ? {} : { cookie }),
        headers: { origin: url, "x-forwarded-for": newAddress(), ...headers },
      }),
    /** Sign in as a browser does; answers the cookies. */
    async browser({ email, password }: Pick<Seller, "email" | "password">): Promise<string> {
      // From an address of its own (where a proxy is trusted), so that the limit of sign-ins does not count.
      const headers = { origin: url, "x-forwarded-for": newAddress() };
      const answer = await request("POST", "/api/auth/sign-in/email", { body: { email, password }, headers });
      if (answer.status !== 200) throw new Error(`No sign-in: ${answer.status} ${answer.text}`);
      return cookiesOf(answer);
    },
    /** Send what waits to be sent. */
    sendMails: () => runWorkers(deps, [mailWorker]),
    deliver: (mail_id: string) => sendMail(deps, mail_id),
  };
}
