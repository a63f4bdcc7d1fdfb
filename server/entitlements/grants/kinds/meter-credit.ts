import type { BenefitGrantProperties, BenefitInput } from "../../../../shared/api/benefits.ts";
import { addCredit, type CreditGrantInput, revokeCredit, rolloverCredit } from "../../../usage/meters/credits.ts";
import type { Grant } from "../rules.ts";
import type { BenefitKind } from "./kind.ts";

const getCredit = ({ row, benefit }: Grant): CreditGrantInput => {
  const { meter_id, units, rollover } = benefit.properties as BenefitInput["meter_credit"];
  const { organization_id, customer_id, id } = row;
  return { organization_id, customer_id, meter_id, units, rollover, source: { kind: "benefit_grant", id } };
};
const buildCredited = ({ meter_id, units }: CreditGrantInput, now: Date): BenefitGrantProperties => ({
  last_credited_meter_id: meter_id,
  last_credited_units: units,
  last_credited_at: now.toISOString(),
});

/** Units of what a meter counts, with each period anew. What the benefit is worth from now on counts from the next one (BEN-55). */
export const meterCredit: BenefitKind = {
  async grant(tx, ctx, grant) {
    const credit = getCredit(grant);
    await addCredit(tx, ctx, credit);
    return { properties: buildCredited(credit, ctx.clock.now()) };
  },
  async cycle(tx, ctx, grant) {
    const credit = getCredit(grant);
    const { last_credited_at: last } = grant.row.properties;
    await rolloverCredit(tx, ctx, credit, last === undefined ? null : new Date(last));
    return buildCredited(credit, ctx.clock.now());
  },
  async revoke(tx, ctx, grant) {
    const { last_credited_units: units, last_credited_meter_id: meter_id } = grant.row.properties;
    if (units === undefined || meter_id === undefined) return {};
    await revokeCredit(tx, ctx, { ...getCredit(grant), meter_id, units });
    return grant.row.properties;
  },
};
