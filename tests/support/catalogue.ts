/** What the tests of the specification's tables share: people with browsers, their mail, and what an answer must have. */
import { eq } from "drizzle-orm";
import { expect } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { type Accounts, startAccounts } from "./accounts.ts";
import { newId } from "./ids.ts";
import { linkTo } from "./mails.ts";
import { codeOf } from "./refusals.ts";
import { type Row, words } from "./table.ts";
import { type Visit, visitor } from "./visitor.ts";

export const unique = () => newId().slice(-12);
export type Someone = Awaited<ReturnType<typeof personOf>>;
export type Catalogue = Awaited<ReturnType<typeof startCatalogue>>;

/** A person who has signed up, with a browser of their own. */
async function personOf(floe: Accounts, verified: boolean) {
  const one = unique();
  const account = { name: "Ada", email: `ada-${one}@example.com`, password: `correct horse ${one}` };
  const browser = visitor(floe.url);
  const { json, status, text } = await browser.go("POST", "/api/auth/sign-up/email", { body: account });
  if (status !== 200) throw new Error(`No sign-up: ${status} ${text}`);
  const { token, user: made } = json as { token: string; user: { id: string } };
  if (verified) await floe.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, made.id));
  return { ...account, id: made.id, token, browser, ...callsOf(browser) };
}

function callsOf(browser: ReturnType<typeof visitor>) {
  const ask = async (method: string, path: string, sent: { body?: unknown; headers?: Record<string, string> }) => {
    const answer: Visit = await browser.go(method, `/api/auth${path}`, sent);
    return answer as Omit<Visit, "json"> & { json: Record<string, unknown> };
  };
  return {
    get: (path: string) => ask("GET", path, {}),
    post: (path: string, body?: unknown, headers: Record<string, string> = {}) =>
      ask("POST", path, { ...(body === undefined ? {} : { body }), headers }),
  };
}

/** A listening floe, and what the rows of the tables do with it. */
export async function startCatalogue(settings: Record<string, string> = {}) {
  const floe = await startAccounts({ TRUST_PROXY: "127.0.0.1", ...settings });
  return {
    ...floe,
    person: ({ verified = false } = {}) => personOf(floe, verified),
    /** Somebody who is not signed in. */
    stranger: () => {
      const browser = visitor(floe.url);
      return { browser, ...callsOf(browser) };
    },
    /** The link in the newest mail to an address that leads to a path. */
    linkTo: async (email: string, path: string): Promise<URL> => new URL(await linkTo(floe, email, path)),
  };
}

/** The body of a call: all that its row says is sent, and nothing else. */
export function sending<B extends object>({ cells: [sent] }: Row, body: B): B {
  const named = words(sent).map((word) => word.replace("?", ""));
  expect(Object.keys(body).sort()).toEqual(named.sort());
  return body;
}

/** A call's answer has all that its row says comes back. */
export function answers({ cells: [, back] }: Row, answer: { status: number; json: unknown; text: string }): void {
  expect({ status: answer.status, text: answer.text }).toMatchObject({ status: 200 });
  for (const field of words(back)) expect(answer.json).toHaveProperty(field);
}

/**
 * A call is refused as its row says: with its status, its text, and the code that is its text in capitals. `fills` are
 * the row's names in braces; `status` is what was chosen where the row does not say.
 */
export function refuses(
  { cells: [shown, text = ""] }: Row,
  answer: { status: number; json: unknown; text: string },
  { status, fills = {}, says }: { status?: number; fills?: Record<string, string>; says?: string } = {},
): void {
  const filled = Object.entries(fills).reduce((all, [name, value]) => all.replace(`{${name}}`, value), text);
  const quoted = /^"(.*)"$/.exec(filled)?.[1];
  const message = says ?? quoted ?? filled;
  const wanted = shown === "not shown" ? status : Number(shown);
  expect(wanted, "a row that shows no status needs the one that was chosen").toBeTypeOf("number");
  const json = answer.json as Record<string, unknown> | undefined;
  expect({ status: answer.status, code: json?.code }, answer.text).toEqual({ status: wanted, code: codeOf(message) });
  // The rows begin some texts in lower case that begin a sentence.
  if (quoted !== undefined) expect(String(json?.message).toLowerCase()).toBe(message.toLowerCase());
}
