import { findProduct } from "../../catalog/products/store.ts";
import { findCustomer } from "../../customers/customers/store.ts";
import { invitationHours } from "../../entitlements/seats/rules.ts";
import { claimInvitation, findContainer } from "../../entitlements/seats/store.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import type { Deps } from "../../platform/context.ts";
import { unseal } from "../../platform/crypto/secrets.ts";
import type { RowKey } from "../../platform/db/rows.ts";
import { transact } from "../../platform/db/unit-of-work.ts";
import { queueMail } from "../../platform/mail-transport/mail.ts";
import { getSpeech } from "./rules.ts";

/** Invite somebody to a seat, where it is theirs still. */
export async function inviteDue(deps: Deps, key: RowKey): Promise<void> {
  await transact(deps, async (tx) => {
    const seat = await claimInvitation(tx, key, deps.clock.now());
    if (seat?.status !== "pending" || seat.token === null || seat.customer_id === null) return;
    const { organization_id } = key;
    const customer = await findCustomer(tx, organization_id, { id: seat.customer_id });
    const seller = await findOrganization(tx, organization_id);
    const container = await findContainer(tx, [organization_id], seat);
    const product = container && (await findProduct(tx, organization_id, container.product_id));
    // Of a team, its member is written to.
    const to = seat.member_id === null ? customer?.email : seat.email;
    if (!customer || !to || !seller || !product) return;
    const { messages, letter } = getSpeech(customer, seller);
    const query = new URLSearchParams({ token: unseal(deps.config.secrets, "seat-invitation", seat.id, seat.token) });
    await queueMail(tx, deps, {
      ...letter,
      to,
      organization_id,
      customer_id: customer.id,
      valid_hours: invitationHours,
      subject: messages.seat_subject(product.name, seller.name),
      paragraphs: [messages.seat(product.name, seller.name)],
      action: {
        label: messages.seat_action,
        url: `${deps.config.url}/${encodeURIComponent(seller.slug)}/portal/claim?${query}`,
      },
      note: messages.seat_hours(invitationHours),
    });
  });
}
