import type { FastifyInstance } from "fastify";
import { z } from "zod";
import { accountBase } from "../../identity/accounts/calls.ts";
import {
  guardRoute,
  type Identify,
  parseQuery,
  requireMembership,
  requirePerson,
} from "../../identity/accounts/http/own-routes.ts";
import type { Deps } from "../../platform/context.ts";
import { readSealedPage } from "./store.ts";

const lengthMax = 100;
/** The greatest number of a seal that its column has. */
const numberMax = 2_147_483_647;

const Sealed = z.object({
  organizationId: z.string().min(1).max(lengthMax),
  /** The number of the seal after which to go on. */
  after: z.coerce.number().int().min(0).max(numberMax).default(0),
});

/**
 * `GET /api/auth/audit/sealed`: the sealed entries of an organization with their seals, for those who may read its log. They verify
 * the log themselves, and keep the hash of its last seal where the server's operator cannot change it (AUD-05).
 */
export function addSealedAuditRoutes(scope: FastifyInstance, { db }: Deps, identify: Identify): void {
  scope.get(
    `${accountBase}/audit/sealed`,
    guardRoute(async (request) => {
      const person = await requirePerson(identify, request);
      const { organizationId, after } = parseQuery(request, Sealed);
      requireMembership(person, organizationId, "audit", "read");
      return readSealedPage(db, organizationId, after);
    }),
  );
}
