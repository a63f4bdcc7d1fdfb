import type { BenefitGrantProperties, BenefitInput } from "../../../../shared/api/benefits.ts";
import type { Tx } from "../../../platform/context.ts";
import { addCredit, type CreditGrantInput, revokeCredit, rolloverCredit } from "../../../usage/meters/credits.ts";
import { type CreditPeriod, limitCreditedUnits } from "../credit-rules.ts";
import { findCreditGround, findCreditPeriod } from "../credit-store.ts";
import type { Grant } from "../rules.ts";
import type { BenefitKind } from "./kind.ts";

const getCredit = ({ row, benefit }: Grant): CreditGrantInput => {
  const { meter_id, units, rollover } = benefit.properties as BenefitInput["meter_credit"];
  const { organization_id, customer_id, id } = row;
  return { organization_id, customer_id, meter_id, units, rollover, source: { kind: "benefit_grant", id } };
};
const buildCredited = (
  { meter_id, units }: CreditGrantInput,
  now: Date,
  period: CreditPeriod | null,
): BenefitGrantProperties => ({
  last_credited_meter_id: meter_id,
  last_credited_units: units,
  last_credited_at: now.toISOString(),
  ...(period ? { last_credited_until: period.ends_at.toISOString() } : {}),
});

/** What is taken back of the units that a grant credited last. */
async function revokeUnits(tx: Tx, ctx: Parameters<typeof revokeCredit>[1], grant: Grant): Promise<number> {
  const { last_credited_units: units, last_credited_meter_id: meter_id } = grant.row.properties;
  return units && meter_id ? revokeCredit(tx, ctx, { ...getCredit(grant), meter_id, units }) : 0;
}

/** Units of what a meter counts, with each period anew. What the benefit is worth from now on counts from the next one (BEN-55). */
export const meterCredit: BenefitKind = {
  // Each grant credits units of its own.
  isRevokedAlone: true,
  async grant(tx, ctx, grant) {
    const [credit, now] = [getCredit(grant), ctx.clock.now()];
    const ground = await findCreditGround(tx, grant.row);
    const units = limitCreditedUnits(credit.units, grant.row, ground, now);
    if (units > 0) await addCredit(tx, ctx, { ...credit, units });
    const withheld = credit.units - units;
    const properties = buildCredited({ ...credit, units }, now, ground.period);
    return { properties: { ...properties, ...(withheld > 0 ? { last_withheld_units: withheld } : {}) } };
  },
  async cycle(tx, ctx, grant) {
    const credit = getCredit(grant);
    const { last_credited_at: last } = grant.row.properties;
    await rolloverCredit(tx, ctx, credit, last === undefined ? null : new Date(last));
    return buildCredited(credit, ctx.clock.now(), await findCreditPeriod(tx, grant.row));
  },
  async revoke(tx, ctx, grant) {
    const last_revoked_units = await revokeUnits(tx, ctx, grant);
    return { ...grant.row.properties, last_revoked_units };
  },
};
