/** What can be edited, and by which words it is named. Loaded with every command, so nothing large is imported here. */
import type { Kind } from "../../shared/catalog/kinds/kind.ts";
import { Fault } from "../fault.ts";
import type { GroupEntry, Manifest } from "../manifest.ts";

/** A group of commands whose things can be edited; with `kind` they are written as floe.yaml writes them. */
export type EditableGroup = { entry: GroupEntry; kind: Kind | undefined };

const kindsByGroup: Record<string, Kind> = {
  products: "products",
  benefits: "benefits",
  discounts: "discounts",
  "checkout-links": "checkout_links",
  "custom-fields": "custom_fields",
  meters: "meters",
  webhooks: "webhooks",
};
/** Besides what floe.yaml holds. An update of other things is an action, and no change of what is stored. */
const records = ["customers", "license-keys", "orders", "organization"];

/** The groups whose things can be edited. */
export const editableGroups: readonly string[] = [...Object.keys(kindsByGroup), ...records];

/** The group that is named: `products`, `product`, `custom_fields`. */
export function getEditableGroup(manifest: Manifest, named: string): EditableGroup {
  const written = named.toLowerCase().replaceAll("_", "-");
  const name = editableGroups.find((one) => one === written || one === `${written}s`);
  const entry = name === undefined ? undefined : manifest.group(name);
  if (name !== undefined && entry) return { entry, kind: kindsByGroup[name] };
  const hint = manifest.group(written)?.operations.some((op) => op.name === "update")
    ? `Use: \`floe ${written} update --help\``
    : `There are: ${editableGroups.join(", ")}`;
  throw new Fault("usage", `there is no editing of ${named}`, { hint });
}
