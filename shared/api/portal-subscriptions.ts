import { z } from "zod";
import { byId, customer, flag, ids, page, paging, type Resource, sorting } from "../contract.ts";
import { id, unlessNull } from "./fields.ts";
import { CustomerOrderProduct } from "./portal-orders.ts";
import { agreement, ownChanges } from "./subscription-changes.ts";
import { cancellationReasons, Subscription, SubscriptionForecast, SubscriptionPreview } from "./subscriptions.ts";

const {
  metadata: _,
  custom_field_data: __,
  customer: ___,
  discount: ____,
  user_id: _____,
  ...shown
} = Subscription.shape;
/** A subscription as its customer sees it. */
export const CustomerSubscription = z.object({
  ...shown,
  product: CustomerOrderProduct,
  /** Always so; older clients ask. */
  is_polar_managed: z.boolean(),
});
export type CustomerSubscription = z.output<typeof CustomerSubscription>;

const limitInt = 2_147_483_647;

/** One change of one kind (CUP-18). */
export const CustomerSubscriptionUpdate = z.union([
  z.strictObject({
    cancel_at_period_end: unlessNull(z.boolean()).describe("Whether it ends with its period."),
    cancellation_reason: z.enum(cancellationReasons).nullish().describe("Why it is to end."),
    cancellation_comment: z.string().max(10_000).nullish().describe("What there is to say about it."),
    ...agreement,
  }),
  z.strictObject({ product_id: id.describe("Another product."), ...agreement }),
  z.strictObject({ seats: z.int().min(-limitInt).max(limitInt).describe("How many seats."), ...agreement }),
  ...ownChanges,
]);
export type CustomerSubscriptionUpdate = z.output<typeof CustomerSubscriptionUpdate>;

const refusals = [
  "ResourceNotFound",
  "BadRequest",
  "NotASeatBasedSubscription",
  "SeatsAlreadyAssigned",
  "UpdateSubscriptionNotAllowed",
  "PauseResumeNotAllowed",
  "AlreadyCanceledSubscription",
  "InactiveSubscription",
  "ResourceUnavailable",
] as const;

/** The subscriptions of the customer who asks (CUP-18, CUP-19). */
export const portalSubscriptions = {
  list: {
    method: "GET",
    id: "customer_portal:subscriptions:list",
    path: "/v1/customer-portal/subscriptions/",
    summary: "List one's own subscriptions",
    access: customer("customer_portal:read"),
    query: z.object({
      ...paging.shape,
      product_id: ids.describe("Only to these products."),
      active: flag.describe("Only those that are active, or only those that have ended."),
      query: z.string().optional().describe("Part of the name of the product."),
      sorting: sorting(["started_at", "amount", "status", "organization", "product"], ["-started_at"]),
    }),
    response: page(CustomerSubscription),
  },
  get: {
    method: "GET",
    id: "customer_portal:subscriptions:get",
    path: "/v1/customer-portal/subscriptions/:id",
    summary: "Get one of one's own subscriptions",
    access: customer("customer_portal:read"),
    params: byId,
    response: CustomerSubscription,
    errors: ["ResourceNotFound"],
  },
  update: {
    method: "PATCH",
    id: "customer_portal:subscriptions:update",
    path: "/v1/customer-portal/subscriptions/:id",
    summary: "Change one's own subscription",
    access: customer("customer_portal:write"),
    params: byId,
    body: CustomerSubscriptionUpdate,
    response: CustomerSubscription,
    errors: [
      ...refusals,
      "PaymentFailed",
      "MissingPaymentMethod",
      "PaymentMethodRequired",
      "PaymentNotReady",
      "SubscriptionLocked",
      "QuoteChanged",
      "MaximumAmountExceeded",
      "PaymentsHeld",
    ],
    external: true,
    movesMoney: ["product_id", "seats"],
  },
  cancel: {
    method: "DELETE",
    id: "customer_portal:subscriptions:cancel",
    path: "/v1/customer-portal/subscriptions/:id",
    summary: "Have one's own subscription end with its period",
    access: customer("customer_portal:write"),
    params: byId,
    response: CustomerSubscription,
    errors: ["ResourceNotFound", "AlreadyCanceledSubscription"],
  },
  preview: {
    method: "POST",
    id: "customer_portal:subscriptions:preview",
    path: "/v1/customer-portal/subscriptions/:id/preview",
    summary: "See what a change of one's own subscription would do",
    access: customer("customer_portal:read"),
    params: byId,
    body: CustomerSubscriptionUpdate,
    response: SubscriptionPreview,
    errors: [...refusals, "MaximumAmountExceeded"],
  },
  forecast: {
    method: "GET",
    id: "customer_portal:subscriptions:forecast",
    path: "/v1/customer-portal/subscriptions/:id/forecast",
    summary: "See what one's own subscription will be charged in a year",
    access: customer("customer_portal:read"),
    params: byId,
    response: SubscriptionForecast,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
