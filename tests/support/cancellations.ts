/** Cancellations by buyers who do not sign in. */
import { listMails } from "../../server/platform/mail-transport/mail.ts";
import type { Floe, Seller } from "./floe.ts";
import { newId } from "./ids.ts";

export const buildDeclaration = (organization_id: string) => ({
  ...{ organization_id, name: "Ada Lovelace", email: `leaver-${newId()}@example.com`, reference: "Pro" },
  kind: "ordinary" as const,
});

/** A cancellation without sign-in; answers the token of the link in its mail. */
export async function declareCancellation(floe: Floe, { organization_id }: Seller, said: object = {}): Promise<string> {
  const body = { ...buildDeclaration(organization_id), ...said };
  await floe.client().portalCancellations.declare({ body });
  const [mail] = (await listMails(floe.deps)).filter(({ to }) => to === body.email);
  return /cancel#token=([\w-]+)/.exec(mail?.text ?? "")?.[1] ?? "";
}
