/** A person with a browser: keeps cookies, sends the page's origin, and is led nowhere without the test. */
import { newAddress } from "./accounts.ts";
import { checkRefusal } from "./refusals.ts";

export type Visit = { status: number; json: never; text: string; location: URL | undefined; cookies: string[] };
type Sent = { body?: unknown; headers?: Record<string, string>; cookieless?: boolean };
export type Visitor = ReturnType<typeof visitor>;

export function visitor(url: string) {
  const jar = new Map<string, string>();

  async function go(
    method: string,
    path: string,
    { body, headers = {}, cookieless = false }: Sent = {},
  ): Promise<Visit> {
    const target = new URL(path, url);
    const isForm = body instanceof URLSearchParams;
    const answer = await fetch(target, {
      method,
      redirect: "manual",
      headers: {
        // From an address of its own (where a proxy is trusted), so that no limit counts.
        "x-forwarded-for": newAddress(),
        ...(method === "GET" ? {} : { origin: url }),
        ...(cookieless || jar.size === 0
          ? {}
          : { cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; ") }),
        ...(body === undefined || isForm ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
    });
    const cookies = answer.headers.getSetCookie();
    for (const cookie of cookies) {
      const [pair = "", ...attributes] = cookie.split("; ");
      const [name = "", value = ""] = pair.split(/=(.*)/s);
      if (attributes.includes("Max-Age=0")) jar.delete(name);
      else jar.set(name, value);
    }
    const text = await answer.text();
    const isJson = (answer.headers.get("content-type") ?? "").includes("json") && text !== "";
    const location = answer.headers.get("location");
    const json = (isJson ? JSON.parse(text) : undefined) as never;
    checkRefusal(target.href, answer.status, json);
    return {
      status: answer.status,
      json,
      text,
      cookies,
      location: location === null ? undefined : new URL(location, target),
    };
  }

  /** Ask to be sent to a service; answers where. */
  async function ask(path: string, body: Record<string, unknown>): Promise<URL> {
    const asked = await go("POST", path, { body });
    if (asked.status !== 200) throw new Error(`${path}: ${asked.status} ${asked.text}`);
    return new URL((asked.json as { url: string }).url);
  }

  /** What the service sends back to, once the person has agreed there. */
  async function agree(at: URL): Promise<URL> {
    const answer = await fetch(at, { redirect: "manual" });
    const back = answer.headers.get("location");
    if (back === null) throw new Error(`The service said ${answer.status} ${await answer.text()}`);
    return new URL(back);
  }

  return {
    jar,
    go,
    ask,
    agree,
    /** The whole way: asked, sent there, agreed, and back. Answers where one ends up. */
    signIn: (provider: string, more: Record<string, unknown> = {}) => walk("/api/auth/sign-in/social", provider, more),
    link: (provider: string, more: Record<string, unknown> = {}) => walk("/api/auth/link-social", provider, more),
    /** Who one is signed in as. */
    async me(): Promise<{ user: Record<string, unknown>; session: Record<string, unknown> } | null> {
      return (await go("GET", "/api/auth/get-session")).json;
    },
  };

  async function walk(path: string, provider: string, more: Record<string, unknown>): Promise<Visit> {
    return go("GET", (await agree(await ask(path, { provider, callbackURL: "/home", ...more }))).href);
  }
}
