import { z } from "zod";
import * as addresses from "../../../shared/addresses.ts";
import * as archives from "../../../shared/api/archives.ts";
import * as benefitGrants from "../../../shared/api/benefit-grants.ts";
import * as benefits from "../../../shared/api/benefits.ts";
import * as cardLinks from "../../../shared/api/card-links.ts";
import * as checkoutClient from "../../../shared/api/checkout-client.ts";
import * as checkoutLinks from "../../../shared/api/checkout-links.ts";
import * as checkouts from "../../../shared/api/checkouts.ts";
import * as customFields from "../../../shared/api/custom-fields.ts";
import * as customerSessions from "../../../shared/api/customer-sessions.ts";
import * as customers from "../../../shared/api/customers.ts";
import * as derivations from "../../../shared/api/derivations.ts";
import * as discounts from "../../../shared/api/discounts.ts";
import * as disputes from "../../../shared/api/disputes.ts";
import * as files from "../../../shared/api/files.ts";
import * as imports from "../../../shared/api/imports.ts";
import * as invoices from "../../../shared/api/invoices.ts";
import * as licenseKeys from "../../../shared/api/license-keys.ts";
import * as logs from "../../../shared/api/logs.ts";
import * as meters from "../../../shared/api/meters.ts";
import * as metrics from "../../../shared/api/metrics.ts";
import * as orders from "../../../shared/api/orders.ts";
import * as organizations from "../../../shared/api/organizations.ts";
import * as payments from "../../../shared/api/payments.ts";
import * as portal from "../../../shared/api/portal.ts";
import * as portalAccounts from "../../../shared/api/portal-accounts.ts";
import * as portalGrants from "../../../shared/api/portal-grants.ts";
import * as portalHoldings from "../../../shared/api/portal-holdings.ts";
import * as portalOrders from "../../../shared/api/portal-orders.ts";
import * as portalSeats from "../../../shared/api/portal-seats.ts";
import * as portalSubscriptions from "../../../shared/api/portal-subscriptions.ts";
import * as portalUsage from "../../../shared/api/portal-usage.ts";
import * as prices from "../../../shared/api/prices.ts";
import * as products from "../../../shared/api/products.ts";
import * as refunds from "../../../shared/api/refunds.ts";
import * as seats from "../../../shared/api/seats.ts";
import * as subscriptions from "../../../shared/api/subscriptions.ts";
import * as tax from "../../../shared/api/tax.ts";
import * as webhooks from "../../../shared/api/webhooks.ts";
import { shown } from "../../../shared/contract.ts";

type Json = Record<string, unknown>;
type Described = Json & { properties?: Record<string, Json>; required?: string[]; $defs?: Record<string, Json> };

/** Where a shape is published under another name than it has here. */
const published: Record<string, string> = {
  AttachedCustomFieldInput: "AttachedCustomFieldCreate",
  CheckoutConfirm: "CheckoutConfirmStripe",
  CustomerUpdateExternal: "CustomerUpdateExternalID",
  BenefitGrantEvent: "BenefitGrantWebhook",
  ExistingPrice: "ExistingProductPrice",
  File: "FileRead",
  FilterShown: "Filter",
  Aggregation: "MeterAggregation",
  LicenseKey: "LicenseKeyRead",
  LicenseKeyActivation: "LicenseKeyActivationBase",
  OrderItem: "OrderItemSchema",
  ProductMedia: "ProductMediaFileRead",
  DownloadableFile: "DownloadableFileRead",
};
/** What the kinds of a union are called, with the kind's own name in place of the star. */
const kindNames: Record<string, string> = {
  AmountSource: "AmountSource*",
  Benefit: "Benefit*",
  BenefitCreate: "Benefit*Create",
  CheckoutDiscount: "CheckoutDiscount*",
  CustomField: "CustomField*",
  CustomFieldCreate: "CustomFieldCreate*",
  CustomerBenefitGrant: "CustomerBenefitGrant*",
  CustomerPaymentMethodCreateResponse: "CustomerPaymentMethodCreate*Response",
  Discount: "Discount*",
  DiscountBase: "Discount*Base",
  FileCreate: "*FileCreate",
  FileRead: "*FileRead",
  ProductPrice: "ProductPrice*",
  ProductPriceCreate: "ProductPrice*Create",
};
/** The same for unions whose members say of themselves by no word which they are: in their order. */
const memberNames: Record<string, string[]> = {
  MeterAggregation: ["CountAggregation", "PropertyAggregation", "UniqueAggregation"],
  BenefitPublic: ["BenefitPublicPlain", "BenefitPublicMeterCredit"],
  Payment: ["CardPayment", "GenericPayment"],
  SubscriptionUpdate: [
    "SubscriptionUpdateProduct",
    "SubscriptionUpdateSeats",
    "SubscriptionUpdateBillingPeriod",
    "SubscriptionCancel",
    "SubscriptionRevoke",
    "SubscriptionPause",
    "SubscriptionResume",
    "SubscriptionUpdateForget",
    "SubscriptionUpdatePaymentMethod",
  ],
  CustomerSubscriptionUpdate: [
    "CustomerSubscriptionCancel",
    "CustomerSubscriptionUpdateProduct",
    "CustomerSubscriptionUpdateSeats",
  ],
};
const modules = [
  ...[
    addresses,
    archives,
    imports,
    benefitGrants,
    benefits,
    cardLinks,
    checkoutClient,
    checkoutLinks,
    checkouts,
    customFields,
    customerSessions,
    customers,
    derivations,
    discounts,
    disputes,
    files,
  ],
  ...[
    invoices,
    licenseKeys,
    logs,
    meters,
    metrics,
    orders,
    organizations,
    payments,
    portal,
    portalAccounts,
    portalGrants,
    portalHoldings,
    portalOrders,
    portalSeats,
    portalSubscriptions,
    portalUsage,
    prices,
    products,
    refunds,
    seats,
    subscriptions,
    tax,
    webhooks,
  ],
];
/** Every shape that is exported has the name of its export. */
const names = z.registry<{ id: string }>();
for (const module of modules)
  for (const [name, shape] of Object.entries(module))
    if (/^[A-Z]/.test(name) && shape instanceof z.ZodType && !names.has(shape))
      names.add(shape, { id: published[name] ?? name });

/** The object that is read behind defaults, preparations and refinements. */
function findObject(shape: z.ZodType): z.ZodObject | undefined {
  const { parent, def } = shape._zod;
  const inside: object = def;
  const held = "innerType" in inside ? inside.innerType : "out" in inside ? inside.out : undefined;
  const behind: unknown = parent ?? held;
  if (behind instanceof z.ZodType) return findObject(behind);
  return shape instanceof z.ZodObject ? shape : undefined;
}

/** Which kind an object is of: `meter_credit` is `MeterCredit`. */
function getKind({ shape }: z.ZodObject): string | undefined {
  const said = ["amount_type", "type", "service", "status", "rule"].map((field) => shape[field]);
  const literal = said.find((one) => one instanceof z.ZodLiteral);
  if (literal) return String(literal.value).replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());
  return shape.benefit instanceof z.ZodObject ? getKind(shape.benefit) : undefined;
}

const named = [...modules].flatMap((module) => Object.values(module)).filter((shape) => shape instanceof z.ZodType);
for (const union of named) {
  const name = names.get(union)?.id ?? "";
  if (!(union instanceof z.ZodUnion)) continue;
  for (const [index, option] of union.options.entries()) {
    const member = option instanceof z.ZodType ? findObject(option) : undefined;
    const kind = member && getKind(member)?.replace("Github", "GitHub");
    const id = memberNames[name]?.[index] ?? (kind && kindNames[name]?.replace("*", kind));
    if (!member || !id) continue;
    if (!names.has(member)) names.add(member, { id });
    const properties = member.shape.properties instanceof z.ZodType ? findObject(member.shape.properties) : undefined;
    // A field asks in the same way, be it sent or answered.
    const of = id.replace("CustomFieldCreate", "CustomField");
    if (properties && !names.has(properties)) names.add(properties, { id: `${of}Properties` });
  }
}

const rewriteReferences = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', '"#/components/schemas/'));

/** Describes shapes, and keeps those with a name apart, for all who refer to them. */
export function createShapeNames() {
  const schemas: Record<string, Json> = {};
  const getSchema = (shape: z.ZodType): Described => {
    // Inside another, so that the shape itself is referred to where it has a name.
    const { properties, $defs = {} } = z.toJSONSchema(z.object({ shape }), {
      io: "input",
      unrepresentable: "any",
      reused: "inline",
      metadata: names,
      override: ({ zodSchema, jsonSchema }) => {
        const description = z.globalRegistry.get(zodSchema)?.description;
        const as = shown.get(zodSchema as never)?.as as z.ZodType | undefined;
        if (as !== undefined) {
          for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
          Object.assign(jsonSchema, getSchema(as));
        }
        if (description !== undefined) jsonSchema.description = description;
      },
    }) as Described;
    for (const [name, { id: _, ...schema }] of Object.entries($defs))
      schemas[name] ??= rewriteReferences(schema) as Json;
    return rewriteReferences(properties?.shape ?? {}) as Described;
  };
  /** A page of a named shape has a name too. */
  const getResponse = (shape: z.ZodType): Json => {
    const items = shape instanceof z.ZodObject && "pagination" in shape.shape ? shape.shape.items : undefined;
    const id = items instanceof z.ZodArray ? names.get(items.element as z.ZodType)?.id : undefined;
    const schema = getSchema(shape);
    if (id === undefined) return schema;
    schemas[`ListResource_${id}_`] ??= schema;
    return { $ref: `#/components/schemas/ListResource_${id}_` };
  };
  return { schemas, schemaOf: getSchema, responseOf: getResponse };
}
