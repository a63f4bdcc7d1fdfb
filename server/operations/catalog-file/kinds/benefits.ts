import { isNull } from "drizzle-orm";
import { readProperties } from "../../../../shared/api/benefits.ts";
import { api } from "../../../../shared/api/index.ts";
import { serializeBenefit } from "../../../catalog/benefits/rules.ts";
import {
  checkWithProvider,
  createBenefits,
  deleteBenefits,
  updateBenefits,
} from "../../../catalog/benefits/service.ts";
import { findBenefits } from "../../../catalog/benefits/store.ts";
import { benefits } from "../../../catalog/benefits/tables.ts";
import type { ServedKind } from "./kind.ts";

const outside = new Set<string>(["discord", "github_repository"]);

export const servedBenefits: ServedKind<"benefits"> = {
  source: {
    table: benefits,
    id: benefits.id,
    organization_id: benefits.organization_id,
    alive: isNull(benefits.deleted_at),
    marks: [benefits.description],
  },
  read: async (db, _, organization_id, ids) => (await findBenefits(db, organization_id, ids)).map(serializeBenefit),
  create: createBenefits,
  update: updateBenefits,
  remove: deleteBenefits,
  shapes: api.benefits,
  isAsked: ({ type }) => outside.has(type),
  questionFor(ctx, { type }, _, { properties }) {
    const read = properties === undefined ? undefined : readProperties(type, properties);
    return read?.success ? async () => void (await checkWithProvider(ctx, type, read.data)) : undefined;
  },
};
