import { z } from "zod";
import { type Benefit, benefits, benefitTypes, readProperties } from "../../api/benefits.ts";
import type { Fields } from "../compare.ts";
import {
  defineKind,
  type Fault,
  type Ids,
  listPlaces,
  metadata,
  type Names,
  omitDefaults,
  previously,
  readMark,
} from "./kind.ts";

const item = z.strictObject({
  type: z.enum(benefitTypes),
  description: z.string().min(3).max(42),
  visibility: z.enum(["draft", "private", "public"]).optional(),
  /** As the API takes them, but for a `meter` by its key and `files` by their names. */
  properties: z.record(z.string(), z.unknown()).optional(),
  metadata,
  previously,
});

function readFoundProperties(row: Benefit, names: Names): Fields {
  switch (row.type) {
    case "meter_credit": {
      const { meter_id, ...rest } = row.properties;
      return { meter: names.keyOf("meters", meter_id), ...rest };
    }
    case "downloadables": {
      const archived = Object.entries(row.properties.archived).filter(([, is]) => is);
      return {
        files: row.properties.files.map(names.fileName),
        archived: archived.map(([id]) => names.fileName(id)).sort(),
      };
    }
    case "discord": {
      // The token is a secret, and the server behind it is named by it.
      const { guild_token: _, ...rest } = row.properties;
      return rest;
    }
    default:
      return row.properties;
  }
}

function toSentProperties(properties: Fields, ids: Ids): Fields {
  const { meter, files, archived, ...rest } = properties;
  const archivedFiles = Array.isArray(archived)
    ? archived.map((name) => [ids.fileId(String(name), "downloadable"), true])
    : undefined;
  return {
    ...rest,
    ...(meter === undefined ? {} : { meter_id: ids.idOf("meters", String(meter)) }),
    ...(Array.isArray(files) ? { files: files.map((name) => ids.fileId(String(name), "downloadable")) } : {}),
    ...(archivedFiles ? { archived: Object.fromEntries(archivedFiles) } : {}),
  };
}

export const benefitKind = defineKind({
  item,
  update: benefits.update.body,
  readProperties,
  wantedFields: ({ previously: _, ...wanted }) => {
    const put = wanted.properties?.archived;
    return Array.isArray(put) ? { ...wanted, properties: { ...wanted.properties, archived: [...put].sort() } } : wanted;
  },
  foundFields: (row: Benefit, names) => ({
    type: row.type,
    description: row.description,
    visibility: row.visibility,
    properties: readFoundProperties(row, names),
    metadata: row.metadata,
  }),
  bodyOf: (fields, ids) => ({
    ...fields,
    ...(fields.properties ? { properties: toSentProperties(fields.properties as Fields, ids) } : {}),
  }),
  shorten: (fields) =>
    omitDefaults({ ...fields, properties: omitDefaults(fields.properties as Fields) }, { visibility: "public" }),
  isFixed: (field) => field === "type",
  nameOf: ({ description }) => description,
  marksOf: ({ description }) => [description],
  likeness: ({ type, description }) => readMark(description).map((text) => `${String(type)} ${text}`),
  needs: ({ properties }) => listPlaces("meters", (properties as Fields | undefined)?.meter),
  findFaults({ type, properties }, refer): Fault[] {
    const meter = properties?.meter;
    if (typeof meter === "string") refer("meters", meter, ["properties", "meter"]);
    else if (type === "meter_credit")
      return [{ path: ["properties"], message: "A credit names its meter: { meter: KEY, units: 100 }" }];
    return [];
  },
  placeOf: ([field, name]) => (field === "properties" && name === "meter_id" ? ["properties", "meter"] : undefined),
});
