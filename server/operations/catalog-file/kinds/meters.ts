import { api } from "../../../../shared/api/index.ts";
import { serializeMeter } from "../../../usage/meters/rules.ts";
import { createMeters, updateMeters } from "../../../usage/meters/service.ts";
import { findMeters } from "../../../usage/meters/store.ts";
import { meters } from "../../../usage/meters/tables.ts";
import type { ServedKind } from "./kind.ts";

export const servedMeters: ServedKind<"meters"> = {
  source: { table: meters, id: meters.id, organization_id: meters.organization_id, marks: [meters.name] },
  read: async (db, _, organization_id, ids) => (await findMeters(db, organization_id, ids)).map(serializeMeter),
  create: createMeters,
  update: updateMeters,
  shapes: api.meters,
};
