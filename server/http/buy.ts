import type { FastifyInstance } from "fastify";
import { ApiError } from "../../shared/errors.ts";
import { anonymous, type Ctx, type Deps } from "../lib/context.ts";
import { contextOf } from "./mount.ts";

type Open = (ctx: Ctx, client_secret: string, query: Record<string, string>) => Promise<{ url: string }>;

const passed_on = ["theme", "embed", "embed_origin", "locale"] as const;

/** The address of a checkout link: a checkout is made for whoever opens it, and they are sent there. */
export function buyRoute(app: FastifyInstance, deps: Deps, open: Open): void {
  app.get<{ Params: { client_secret: string } }>("/buy/:client_secret", async (request, reply) => {
    // Who only looks whether the address is alive, as mail scanners do, opens nothing.
    if (request.method === "HEAD") return reply.header("Cache-Control", "no-store").code(200).send();
    const given = Object.entries(request.query as Record<string, unknown>).filter(
      (entry): entry is [string, string] => typeof entry[1] === "string",
    );
    const query = Object.fromEntries(given);
    try {
      const { url } = await open(contextOf(deps, request, anonymous), request.params.client_secret, query);
      const target = new URL(url);
      for (const key of passed_on) {
        const value = query[key];
        if (value !== undefined) target.searchParams.set(key, value);
      }
      return reply.header("Cache-Control", "no-store").redirect(target.href);
    } catch (error) {
      // A person opened it: what went wrong is shown on a page, not as JSON. A seller's page that may not embed is told why.
      if (
        !(error instanceof ApiError) ||
        error.error === "EmbedHostNotAllowed" ||
        !(request.headers.accept ?? "").includes("text/html")
      )
        throw error;
      return reply.callNotFound();
    }
  });
}
