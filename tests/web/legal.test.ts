import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import type { OrganizationSettings } from "../../web/home/calls.ts";
import { readLegalValues, writeLegalChanges, writeLegalCommand } from "../../web/home/legal.ts";

/** What the form of the legal details sends, and the command beside it. */

const stored = readLegalValues({
  invoice_settings: {
    legal_name: "Acme GmbH",
    tax_id: null,
    address: { line1: "Am Tor 1", line2: null, postal_code: "10115", city: "Berlin", state: null, country: "DE" },
    footer: "Not in the form.",
  },
  legal_settings: { terms_url: "https://acme.example/terms", privacy_url: null, imprint: null },
} as OrganizationSettings);

test("only what differs is sent; a blank field takes its detail away, and blanks around a text count as none", () => {
  expect(writeLegalChanges(stored, stored)).toBeUndefined();
  expect(writeLegalChanges(stored, { ...stored, legal_name: " Acme GmbH " })).toBeUndefined();
  expect(writeLegalChanges(stored, { ...stored, legal_name: " ", imprint: "HRB 1" })).toEqual({
    invoice_settings: { legal_name: null },
    legal_settings: { imprint: "HRB 1" },
  });
  const address = { line1: "Am Tor 1", postal_code: "10117", city: "Berlin", country: "DE" };
  expect(writeLegalChanges(stored, { ...stored, postal_code: "10117" })).toEqual({ invoice_settings: { address } });
  const none = { line1: "", postal_code: "", city: " ", country: "" };
  expect(writeLegalChanges(stored, { ...stored, ...none })).toEqual({ invoice_settings: { address: null } });
});

test("the command is one line of a shell, whatever was typed", () => {
  const hostile = `$(reboot) \`reboot\` "Ada's" \\ & ; | > <\n#2`;
  const command = writeLegalCommand(stored, { ...stored, imprint: hostile, terms_url: "" });
  const words = execFileSync("bash", ["-c", `printf '%s\\0' ${command}`], { encoding: "utf8" }).split("\0");
  expect(words.slice(0, -1)).toEqual([
    "floe",
    "organization",
    "update",
    "--legal-settings",
    '{"terms_url":null}',
    "--legal-settings",
    `imprint=${hostile}`,
  ]);
  expect(writeLegalCommand(stored, stored)).toBe("floe organization get");
});
