import { isDeepStrictEqual } from "node:util";
import type { z } from "zod";
import { type Benefit, type BenefitPublic, type BenefitUpdate, readProperties } from "../../../shared/api/benefits.ts";
import { readTerms } from "../../../shared/benefit-text.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import type { Actor } from "../../platform/context.ts";
import { listChanges } from "../../platform/db/rows.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import type { benefits } from "./tables.ts";

export type BenefitRow = typeof benefits.$inferSelect;

const buildCommon = (row: BenefitRow) => ({
  id: row.id,
  created_at: row.created_at,
  modified_at: row.modified_at,
  description: row.description,
  selectable: row.selectable,
  deletable: row.deletable,
  is_deleted: row.deleted_at !== null,
  organization_id: row.organization_id,
});

/** Given outside or as files: buyers see that they have them, whatever the seller would like. */
const isShownByKind = new Set<BenefitRow["type"]>([
  "discord",
  "github_repository",
  "downloadables",
  "slack_shared_channel",
]);

/** A benefit as its seller sees it. */
export const serializeBenefit = (row: BenefitRow): Benefit =>
  // The properties were checked by the type's own shape when they were written.
  ({
    ...buildCommon(row),
    type: row.type,
    metadata: row.metadata,
    visibility: row.visibility,
    visibility_configurable: !isShownByKind.has(row.type),
    properties: row.properties,
  }) as Benefit;

/** A benefit as buyers see it. */
export function serializeBenefitPublic(row: BenefitRow): BenefitPublic {
  if (row.type !== "meter_credit")
    return { ...buildCommon(row), type: row.type, terms: readTerms(row.type, row.properties) };
  const { units, meter_id } = row.properties as Extract<Benefit, { type: "meter_credit" }>["properties"];
  return { ...buildCommon(row), type: "meter_credit", properties: { units, meter_id } };
}

type Update = z.output<typeof BenefitUpdate>;

/** The columns that an update changes, or every fault of it (BEN-01). What the properties name is checked apart. */
export function planUpdate(row: BenefitRow, body: Update): { patch: Partial<BenefitRow>; faults: Fault[] } {
  const faults: Fault[] = [];
  if (body.type !== undefined && body.type !== row.type)
    faults.push(fault(["type"], "The type of a benefit can't be changed.", "value_error", body.type));
  const patch = listChanges(row, body, ["description", "visibility", "metadata"]);
  if (body.properties !== undefined) {
    const result = readProperties(row.type, body.properties);
    if (!result.success) faults.push(...readFaults(["body", "properties"], result.error.issues, body.properties));
    else if (!isKept(row.properties, result.data)) patch.properties = result.data as Benefit["properties"];
  }
  return { patch, faults };
}

/** Nothing here can open a channel at Slack. */
export const checkSlack = (type: Benefit["type"]): Fault[] =>
  type === "slack_shared_channel"
    ? [fault(["properties", "slack_integration_id"], "There is no Slack integration on this server.", "not_available")]
    : [];

/** What of other rooms the properties of a benefit name. */
export const getReferences = (type: Benefit["type"], properties: object): { files: string[]; meters: string[] } => ({
  files: type === "downloadables" && "files" in properties ? (properties.files as string[]) : [],
  meters: type === "meter_credit" && "meter_id" in properties ? [String(properties.meter_id)] : [],
});

/** A fault for each file and meter that the organization does not have (BEN-20, BEN-50). */
export function checkNamed(
  named: { files: string[]; meters: string[] },
  found: { files: ReadonlySet<string>; meters: ReadonlySet<string> },
): Fault[] {
  return [
    ...named.files.flatMap((id, index) =>
      found.files.has(id) ? [] : [fault(["properties", "files", index], "File not found.", "value_error", id)],
    ),
    ...named.meters.flatMap((id) =>
      found.meters.has(id) ? [] : [fault(["properties", "meter_id"], "Meter not found.", "value_error", id)],
    ),
  ];
}

/** Whether everything that is sent is already so; what the server added to it does not count. */
const isKept = (properties: object, sent: object): boolean =>
  isDeepStrictEqual(Object.fromEntries(Object.keys(sent).map((key) => [key, properties[key as never]])), sent);

/** Only a person can give access to a repository, who has shown GitHub's account that may (BEN-70). */
export function checkGitHub({ kind, user_id }: Actor, isLinked: boolean, missing: string | undefined): Fault[] {
  const at = ["properties", "repository_owner"];
  if (kind === "system") return [];
  if (missing) return [fault(at, `Access to GitHub is not set up on this server: ${missing} is missing.`)];
  if (user_id === null)
    return [
      fault(
        at,
        "Only a person can make this benefit: use your own token, not an organization's.",
        "invalid_auth_subject",
      ),
    ];
  return isLinked ? [] : [fault(at, "Connect your GitHub account first.", "invalid_user_auth")];
}

/** What is wrong with a repository, by GitHub's word (BEN-70). The types are those that published clients know. */
export function checkRepository(
  judged: "fine" | "not_installed" | "personal" | "no_access",
  { repository_owner, repository_name }: { repository_owner: string; repository_name: string },
): Fault[] {
  const [owner, name] = [
    ["properties", "repository_owner"],
    ["properties", "repository_name"],
  ];
  const whole = `${repository_owner}/${repository_name}`;
  if (judged === "not_installed")
    return [
      fault(
        name,
        `The app is not installed on ${whole}. Install it there first.`,
        "no_repository_installation_found",
        repository_name,
      ),
    ];
  if (judged === "personal")
    return [
      fault(
        owner,
        "A personal account cannot let buyers in with a permission of their own. Move the repository to an organization.",
        "personal_organization_repository",
        repository_owner,
      ),
    ];
  if (judged === "no_access")
    return [
      fault(
        name,
        `Your GitHub account does not administer ${whole}. Only who does can give access to it.`,
        "no_repository_acccess",
        repository_name,
      ),
    ];
  return [];
}

/** What is wrong with a role, by Discord's word (BEN-60). */
export function checkRole(judged: "fine" | "absent" | "unknown" | "above", role_id: string): Fault[] {
  const at = ["properties", "role_id"];
  if (judged === "absent") return [fault(["properties", "guild_token"], "The bot is no longer in this server.")];
  if (judged === "unknown") return [fault(at, "This role does not exist.", "invalid_role", role_id)];
  if (judged === "above")
    return [
      fault(at, "The role must stand below the bot's own, or the bot can't give it.", "invalid_role_position", role_id),
    ];
  return [];
}
