/** The variables of the environment that the command line reads, for its manual. A test holds the table of `docs/cli.md` to them. */
import type { Item } from "./page.ts";

export const environment: Item[] = [
  { term: "FLOE_SERVER", text: "the server; http only on this machine" },
  { term: "FLOE_ORG", text: "the organization, by slug or id" },
  { term: "FLOE_PROFILE", text: "the profile" },
  { term: "FLOE_API_KEY", text: "an API key in place of a sign-in" },
  { term: "FLOE_ARCHIVE_PASSPHRASE", text: "the passphrase of floe export and floe restore" },
  { term: "FLOE_IMPORT_STRIPE_KEY", text: "the key of the Stripe account that `floe import stripe` reads" },
  { term: "FLOE_DEBUG", text: "each request on stderr, without keys and bodies" },
  { term: "NO_COLOR, FORCE_COLOR", text: "no colors, or colors also where there is no terminal" },
  { term: "FLOE_PAGER, PAGER", text: "what leafs through long output (less); empty for nothing" },
  { term: "FLOE_CONFIG_DIR", text: "where profiles and sign-ins are kept (~/.config/floe)" },
  { term: "FLOE_KEYCHAIN", text: "off keeps sign-ins in a file, on in the keychain alone" },
  { term: "FLOE_AGENT", text: "yes answers as for a coding agent, no as for a person" },
  { term: "HTTPS_PROXY, NO_PROXY", text: "a proxy" },
  { term: "CI", text: "nothing is asked, as if there were no terminal" },
  { term: "FLOE_NO_UPDATE_NOTICE", text: "no word of newer versions" },
  { term: "VISUAL, EDITOR", text: "the editor of `floe edit`" },
];
