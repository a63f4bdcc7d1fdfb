/** The linked organization at hosted Polar, with the one setting of it that this server keeps: what buyers may send (MTR-32). */
import { OrganizationUpdate } from "../../shared/api/organizations.ts";
import { ApiError } from "../../shared/errors.ts";
import { findOrganization, updateOrganization } from "../identity/organizations/store.ts";
import type { Ctx } from "../platform/context.ts";
import { transact } from "../platform/db/unit-of-work.ts";
import { Relayed } from "../platform/http/relayed.ts";
import { readFaults } from "../platform/http/validation-errors.ts";
import type { Hosted } from "./relay/hosted.ts";
import type { OwnAnswers } from "./relay/own-answers.ts";

const field = "customer_event_names";
const Names = OrganizationUpdate.pick({ customer_event_names: true });
type Body = Readonly<Record<string, unknown>>;
const isBody = (value: unknown): value is Body => typeof value === "object" && value !== null && !Array.isArray(value);

/** Polar has no list of events that buyers may send, so it is kept with the organization here. */
export function createOrganizationAnswers(hosted: Hosted): OwnAnswers {
  const findNames = async (ctx: Ctx): Promise<string[]> =>
    (await findOrganization(ctx.db, hosted.requireLink().organization_id))?.customer_event_names ?? [];
  /** The same organization with the names that are kept here. Another one, and a refusal, stay as they are. */
  const addNames = (value: unknown, names: readonly string[]): unknown =>
    isBody(value) && value.id === hosted.requireLink().polar_id ? { ...value, [field]: names } : value;
  const replaceJson = (made: unknown, change: (json: unknown) => unknown): unknown =>
    made instanceof Relayed
      ? made.status < 300
        ? new Relayed(made.status, change(made.json), made.headers)
        : made
      : change(made);

  return {
    async "organizations.get"(ctx, _input, relay) {
      const made = await relay(ctx);
      const names = await findNames(ctx);
      return replaceJson(made, (json) => addNames(json, names));
    },
    async "organizations.list"(ctx, _input, relay) {
      const made = await relay(ctx);
      const names = await findNames(ctx);
      return replaceJson(made, (json) =>
        isBody(json) && Array.isArray(json.items)
          ? { ...json, items: json.items.map((item) => addNames(item, names)) }
          : json,
      );
    },
    async "organizations.update"(ctx, { body }, relay) {
      const given = isBody(body) ? body : {};
      const read = Names.safeParse(given);
      if (!read.success) throw new ApiError("RequestValidationError", readFaults(["body"], read.error.issues, given));
      const { [field]: _, ...rest } = given;
      const { sent } = ctx;
      const isNamed = field in given;
      // Polar judges the rest first: if it refuses, nothing is kept here.
      const asked = isNamed && sent ? { ...ctx, sent: { ...sent, body: Buffer.from(JSON.stringify(rest)) } } : ctx;
      const made = await relay(asked);
      const { organization_id, polar_id } = hosted.requireLink();
      const changed = made instanceof Relayed ? (made.status < 300 ? made.json : undefined) : made;
      const names = read.data[field];
      if (names !== undefined && isBody(changed) && changed.id === polar_id)
        await transact(ctx, (tx) => updateOrganization(tx, organization_id, { [field]: [...new Set(names)] }));
      const kept = await findNames(ctx);
      return replaceJson(made, (json) => addNames(json, kept));
    },
  };
}
