import { isNull } from "drizzle-orm";
import { api } from "../../../../shared/api/index.ts";
import { serializeCustomField } from "../../../catalog/custom-fields/rules.ts";
import { createCustomFields, deleteCustomFields, updateCustomFields } from "../../../catalog/custom-fields/service.ts";
import { findCustomFields } from "../../../catalog/custom-fields/store.ts";
import { customFields } from "../../../catalog/custom-fields/tables.ts";
import type { ServedKind } from "./kind.ts";

export const servedCustomFields: ServedKind<"custom_fields"> = {
  source: {
    table: customFields,
    id: customFields.id,
    organization_id: customFields.organization_id,
    alive: isNull(customFields.deleted_at),
    marks: [customFields.slug],
  },
  read: async (db, _, organization_id, ids) =>
    (await findCustomFields(db, organization_id, ids)).map(serializeCustomField),
  create: createCustomFields,
  update: updateCustomFields,
  remove: deleteCustomFields,
  shapes: api.customFields,
};
