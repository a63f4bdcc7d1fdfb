import type { BenefitGrantProperties } from "../../../../shared/api/benefits.ts";
import type { BenefitRow } from "../../../catalog/benefits/rules.ts";
import type { Ctx, Deps, Tx } from "../../../platform/context.ts";
import type { Grant } from "../rules.ts";

/**
 * What a kind makes of a grant: what it keeps of it, or that somebody has to do something first. With an access it is granted once
 * an account elsewhere is let in.
 */
export type GrantOutcome = { properties: BenefitGrantProperties; access_id?: string } | { action_required: string };

/** What a benefit of one type does when it is given and taken, in the transaction that gives and takes it. */
export type BenefitKind = {
  /** Of the benefit, what a grant depends on: a live grant is updated when it changes. Absent: nothing (BEN-12). */
  terms?(properties: BenefitRow["properties"]): unknown;
  /** Whether each grant is taken back by itself, also where the customer has another one of the same benefit (BEN-09). */
  isRevokedAlone?: true;
  /** Give it, for the first time or again. */
  grant(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<GrantOutcome>;
  /** A new period has been paid for. */
  cycle?(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<BenefitGrantProperties>;
  /** Take it back; answers what is kept for when it is given again. */
  revoke?(tx: Tx, ctx: Deps | Ctx, grant: Grant): Promise<BenefitGrantProperties>;
};
