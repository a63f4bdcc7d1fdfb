import { z } from "zod";
import { Address, CompleteAddressInput } from "../addresses.ts";
import {
  byId,
  flag,
  ids,
  instant,
  metadata,
  metadataFilter,
  metadataOut,
  page,
  paging,
  type Resource,
  seller,
  sorting,
} from "../contract.ts";
import { BenefitGrantProperties, benefitTypes } from "./benefits.ts";
import { customFieldData, email, interval, organizationOf, stored, TaxId, TaxIdInput, unlessNull } from "./fields.ts";
import { MemberOwnerCreate } from "./members.ts";
import { PaymentMethod } from "./payment-methods.ts";

export const Customer = z.object({
  ...stored,
  type: z.enum(["individual", "team"]),
  external_id: z.string().nullable(),
  /** Null for a team alone. */
  email: z.string().nullable(),
  email_verified: z.boolean(),
  name: z.string().nullable(),
  billing_name: z.string().nullable(),
  billing_address: Address.nullable(),
  tax_id: TaxId.nullable(),
  locale: z.string().nullable(),
  organization_id: z.uuid(),
  default_payment_method_id: z.uuid().nullable(),
  first_user_event_at: instant.nullable(),
  deleted_at: instant.nullable(),
  avatar_url: z.string(),
  metadata: metadataOut,
});
export type Customer = z.output<typeof Customer>;

/** What a customer has (positive) or owes (negative), and the same in each currency (ORD-02). */
export const CustomerBalance = z.object({
  balance: z.int(),
  currency: z.string(),
  balances: z.array(z.object({ balance: z.int(), currency: z.string() })),
});

const StateMeter = z.object({
  ...stored,
  meter_id: z.uuid(),
  consumed_units: z.number(),
  credited_units: z.int(),
});

const StateSubscription = z.object({
  ...stored,
  custom_field_data: customFieldData,
  metadata: metadataOut,
  status: z.enum(["active", "trialing"]),
  amount: z.int(),
  currency: z.string(),
  recurring_interval: interval,
  current_period_start: instant,
  current_period_end: instant,
  trial_start: instant.nullable(),
  trial_end: instant.nullable(),
  cancel_at_period_end: z.boolean(),
  canceled_at: instant.nullable(),
  started_at: instant.nullable(),
  ends_at: instant.nullable(),
  product_id: z.uuid(),
  discount_id: z.uuid().nullable(),
  seats: z.int().nullable(),
  units: z.int().nullable(),
  meters: z.array(StateMeter.extend({ amount: z.int() })),
});

const StateGrant = z.object({
  ...stored,
  granted_at: instant,
  benefit_id: z.uuid(),
  benefit_type: z.enum(benefitTypes),
  benefit_metadata: metadataOut,
  properties: BenefitGrantProperties,
});

/** A customer with all that it holds now (CUS-23). */
export const CustomerState = Customer.extend({
  active_subscriptions: z.array(StateSubscription),
  granted_benefits: z.array(StateGrant),
  active_meters: z.array(StateMeter.extend({ balance: z.number() })),
});
export type CustomerState = z.output<typeof CustomerState>;

const name = z.string().max(256).nullish().describe("Name of the customer.");
const locale = z.string().max(64).nullish().describe("Language of the customer, as en or pt-BR.");
const billingAddress = CompleteAddressInput.nullish().describe("Billing address.");
/** The seller's own id of the customer. Bounded because it stands in a unique index. */
const externalId = z
  .string()
  .max(512)
  .transform((id) => (id === "" ? null : id))
  .nullish();

export const CustomerCreate = z
  .object({
    email: email.nullish().describe("E-mail address, unique among your customers. A team may have none."),
    name,
    external_id: externalId.describe("Your own id of the customer, unique; cannot be changed once set."),
    billing_address: billingAddress,
    tax_id: TaxIdInput,
    locale,
    type: z.enum(["individual", "team"]).default("individual").describe("One person, or a team."),
    metadata: metadata.default(() => ({})).describe("Your own keys and values."),
    owner: MemberOwnerCreate.nullish().describe("The first member of a team, who owns it; else whose address it has."),
    organization_id: organizationOf,
  })
  .refine(({ type, email }) => type === "team" || Boolean(email), {
    path: ["email"],
    message: "Field required",
    params: { type: "missing" },
  })
  .refine(({ type, owner }) => type === "team" || !owner, {
    path: ["owner"],
    message: "Only a team has an owner.",
  });

const writable = {
  email: unlessNull(email).describe("E-mail address, unique among your customers."),
  name,
  billing_address: billingAddress,
  tax_id: TaxIdInput,
  locale,
  metadata: unlessNull(metadata).describe("Your own keys and values; replaces all of them."),
};

export const CustomerUpdate = z.object({
  ...writable,
  external_id: externalId.describe("Your own id of the customer; cannot be changed once set."),
  type: unlessNull(z.enum(["individual", "team"])).describe("A person can become a team, not the other way."),
});

/** As `CustomerUpdate`, without the id by which the customer was found (CUS-10). */
export const CustomerUpdateExternal = z.object(writable);

/** How far the erasure of a customer is. */
export const CustomerErasure = z.object({
  customer_id: z.uuid(),
  created_at: instant,
  /** What is being gone through now; null once all is. */
  stage: z.enum(["customer", "records", "told", "used"]).nullable(),
  finished_at: instant.nullable(),
});
export type CustomerErasure = z.output<typeof CustomerErasure>;

const byExternalId = z.object({ external_id: z.string().min(1) });
const deletion = z.object({ anonymize: flag.describe("Also make the personal data unreadable.") });

export const customers = {
  list: {
    method: "GET",
    path: "/v1/customers/",
    summary: "List customers",
    access: seller("customers:read"),
    query: z.object({
      ...paging.shape,
      organization_id: ids.describe("Only of these organizations."),
      email: z.string().optional().describe("Only the one with this e-mail address."),
      query: z.string().optional().describe("Part of the e-mail address or name, or start of your own id."),
      active: flag.describe("Only those with a running subscription, or only those without."),
      metadata: metadataFilter,
      sorting: sorting(["created_at", "email", "name"], ["-created_at"]),
    }),
    response: page(Customer),
  },
  create: {
    method: "POST",
    path: "/v1/customers/",
    summary: "Create a customer",
    access: seller("customers:write"),
    body: CustomerCreate,
    response: Customer,
    status: 201,
  },
  export: {
    method: "GET",
    path: "/v1/customers/export",
    heavy: "cancel",
    summary: "Export customers as CSV",
    access: seller("customers:read"),
    query: z.object({ organization_id: ids.describe("Only of these organizations.") }),
    file: { name: "polar-customers.csv", type: "text/csv" },
  },
  get: {
    method: "GET",
    path: "/v1/customers/:id",
    summary: "Get a customer",
    access: seller("customers:read"),
    params: byId,
    response: Customer,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    path: "/v1/customers/:id",
    summary: "Update a customer",
    access: seller("customers:write"),
    params: byId,
    body: CustomerUpdate,
    response: Customer,
    errors: ["ResourceNotFound"],
  },
  delete: {
    method: "DELETE",
    path: "/v1/customers/:id",
    summary: "Delete a customer",
    access: seller("customers:write"),
    params: byId,
    query: deletion,
    status: 204,
    errors: ["ResourceNotFound"],
    confirm: "Delete this customer? Its subscriptions end and its benefits are revoked at once.",
  },
  getState: {
    method: "GET",
    path: "/v1/customers/:id/state",
    summary: "Get what a customer holds",
    access: seller("customers:read"),
    params: byId,
    response: CustomerState,
    errors: ["ResourceNotFound"],
  },
  /** Of Polar's earlier contract. SDK 0.38 reads `balance` and `currency`; `balances` has every currency. */
  getBalance: {
    method: "GET",
    path: "/v1/customers/:id/balance",
    summary: "Get the balance of a customer",
    access: seller("customers:read"),
    params: byId,
    response: CustomerBalance,
    errors: ["ResourceNotFound"],
  },
  /** Beyond Polar: whatever is held about a person, in one file. */
  exportData: {
    method: "GET",
    path: "/v1/customers/:id/personal-data",
    heavy: "cancel",
    summary: "Export all that is held about a customer",
    access: seller("customers:read"),
    params: byId,
    file: { name: "personal-data.json", type: "application/json" },
    errors: ["ResourceNotFound"],
  },
  /** Beyond Polar: as deleting with `anonymize`, and told how far it is. */
  erase: {
    method: "POST",
    path: "/v1/customers/:id/erasure",
    summary: "Erase a customer",
    access: seller("customers:write"),
    params: byId,
    response: CustomerErasure,
    status: 202,
    errors: ["ResourceNotFound"],
    audit: "customer.erased",
    confirm:
      "Erase this customer? Subscriptions end, benefits are revoked, and the person is removed from all but invoices. It cannot be undone.",
  },
  getErasure: {
    method: "GET",
    path: "/v1/customers/:id/erasure",
    summary: "See how far an erasure is",
    access: seller("customers:read"),
    params: byId,
    response: CustomerErasure,
    errors: ["ResourceNotFound"],
  },
  listPaymentMethods: {
    method: "GET",
    path: "/v1/customers/:id/payment-methods",
    summary: "List the cards of a customer",
    access: seller("customers:read"),
    params: byId,
    query: paging,
    response: page(PaymentMethod),
    errors: ["ResourceNotFound"],
  },
  getExternal: {
    method: "GET",
    path: "/v1/customers/external/:external_id",
    summary: "Get a customer by your own id",
    access: seller("customers:read"),
    params: byExternalId,
    response: Customer,
    errors: ["ResourceNotFound", "AmbiguousExternalCustomerID"],
  },
  updateExternal: {
    method: "PATCH",
    path: "/v1/customers/external/:external_id",
    summary: "Update a customer by your own id",
    access: seller("customers:write"),
    params: byExternalId,
    body: CustomerUpdateExternal,
    response: Customer,
    errors: ["ResourceNotFound", "AmbiguousExternalCustomerID"],
  },
  deleteExternal: {
    method: "DELETE",
    path: "/v1/customers/external/:external_id",
    summary: "Delete a customer by your own id",
    access: seller("customers:write"),
    params: byExternalId,
    query: deletion,
    status: 204,
    errors: ["ResourceNotFound", "AmbiguousExternalCustomerID"],
    confirm: "Delete this customer? Its subscriptions end and its benefits are revoked at once.",
  },
  getStateExternal: {
    method: "GET",
    path: "/v1/customers/external/:external_id/state",
    summary: "Get what a customer holds by your own id",
    access: seller("customers:read"),
    params: byExternalId,
    response: CustomerState,
    errors: ["ResourceNotFound", "AmbiguousExternalCustomerID"],
  },
  listPaymentMethodsExternal: {
    method: "GET",
    path: "/v1/customers/external/:external_id/payment-methods",
    summary: "List the cards of a customer by your own id",
    access: seller("customers:read"),
    params: byExternalId,
    query: paging,
    response: page(PaymentMethod),
    errors: ["ResourceNotFound", "AmbiguousExternalCustomerID"],
  },
} as const satisfies Resource;
