/** The strict readers of the two older official clients: each checks an answer field by field, and refuses what it does not know. */

import { Benefit$inboundSchema as Benefit38 } from "polar-sdk-0.38/models/components/benefit.js";
import { BenefitGrant$inboundSchema as BenefitGrant38 } from "polar-sdk-0.38/models/components/benefitgrant.js";
import { Checkout$inboundSchema as Checkout38 } from "polar-sdk-0.38/models/components/checkout.js";
import { CheckoutLink$inboundSchema as CheckoutLink38 } from "polar-sdk-0.38/models/components/checkoutlink.js";
import { CheckoutPublic$inboundSchema as CheckoutPublic38 } from "polar-sdk-0.38/models/components/checkoutpublic.js";
import { CheckoutPublicConfirmed$inboundSchema as CheckoutPublicConfirmed38 } from "polar-sdk-0.38/models/components/checkoutpublicconfirmed.js";
import { Customer$inboundSchema as Customer38 } from "polar-sdk-0.38/models/components/customer.js";
import { CustomerPortalCustomer$inboundSchema as CustomerPortalCustomer38 } from "polar-sdk-0.38/models/components/customerportalcustomer.js";
import { CustomerSession$inboundSchema as CustomerSession38 } from "polar-sdk-0.38/models/components/customersession.js";
import { CustomerState$inboundSchema as CustomerState38 } from "polar-sdk-0.38/models/components/customerstate.js";
import { CustomField$inboundSchema as CustomField38 } from "polar-sdk-0.38/models/components/customfield.js";
import { Discount$inboundSchema as Discount38 } from "polar-sdk-0.38/models/components/discount.js";
import { FileUpload$inboundSchema as FileUpload38 } from "polar-sdk-0.38/models/components/fileupload.js";
import { ListResourceFileRead$inboundSchema as FileList38 } from "polar-sdk-0.38/models/components/listresourcefileread.js";
import { Meter$inboundSchema as Meter38 } from "polar-sdk-0.38/models/components/meter.js";
import { Order$inboundSchema as Order38 } from "polar-sdk-0.38/models/components/order.js";
import { Organization$inboundSchema as Organization38 } from "polar-sdk-0.38/models/components/organization.js";
import { Payment$inboundSchema as Payment38 } from "polar-sdk-0.38/models/components/payment.js";
import { Product$inboundSchema as Product38 } from "polar-sdk-0.38/models/components/product.js";
import { Refund$inboundSchema as Refund38 } from "polar-sdk-0.38/models/components/refund.js";
import { WebhookDelivery$inboundSchema as WebhookDelivery38 } from "polar-sdk-0.38/models/components/webhookdelivery.js";
import { WebhookEndpoint$inboundSchema as WebhookEndpoint38 } from "polar-sdk-0.38/models/components/webhookendpoint.js";
import { WebhookEventType as eventTypes38 } from "polar-sdk-0.38/models/components/webhookeventtype.js";
import { Benefit$inboundSchema as Benefit49 } from "polar-sdk-0.49/models/components/benefit.js";
import { BenefitGrant$inboundSchema as BenefitGrant49 } from "polar-sdk-0.49/models/components/benefitgrant.js";
import { Checkout$inboundSchema as Checkout49 } from "polar-sdk-0.49/models/components/checkout.js";
import { CheckoutLink$inboundSchema as CheckoutLink49 } from "polar-sdk-0.49/models/components/checkoutlink.js";
import { CheckoutPublic$inboundSchema as CheckoutPublic49 } from "polar-sdk-0.49/models/components/checkoutpublic.js";
import { CheckoutPublicConfirmed$inboundSchema as CheckoutPublicConfirmed49 } from "polar-sdk-0.49/models/components/checkoutpublicconfirmed.js";
import { Customer$inboundSchema as Customer49 } from "polar-sdk-0.49/models/components/customer.js";
import { CustomerPortalCustomer$inboundSchema as CustomerPortalCustomer49 } from "polar-sdk-0.49/models/components/customerportalcustomer.js";
import { CustomerSession$inboundSchema as CustomerSession49 } from "polar-sdk-0.49/models/components/customersession.js";
import { CustomerState$inboundSchema as CustomerState49 } from "polar-sdk-0.49/models/components/customerstate.js";
import { CustomField$inboundSchema as CustomField49 } from "polar-sdk-0.49/models/components/customfield.js";
import { Discount$inboundSchema as Discount49 } from "polar-sdk-0.49/models/components/discount.js";
import { FileUpload$inboundSchema as FileUpload49 } from "polar-sdk-0.49/models/components/fileupload.js";
import { ListResourceFileRead$inboundSchema as FileList49 } from "polar-sdk-0.49/models/components/listresourcefileread.js";
import { Meter$inboundSchema as Meter49 } from "polar-sdk-0.49/models/components/meter.js";
import { Order$inboundSchema as Order49 } from "polar-sdk-0.49/models/components/order.js";
import { Organization$inboundSchema as Organization49 } from "polar-sdk-0.49/models/components/organization.js";
import { Payment$inboundSchema as Payment49 } from "polar-sdk-0.49/models/components/payment.js";
import { PaymentMethod$inboundSchema as PaymentMethod49 } from "polar-sdk-0.49/models/components/paymentmethod.js";
import { Product$inboundSchema as Product49 } from "polar-sdk-0.49/models/components/product.js";
import { Refund$inboundSchema as Refund49 } from "polar-sdk-0.49/models/components/refund.js";
import { WebhookDelivery$inboundSchema as WebhookDelivery49 } from "polar-sdk-0.49/models/components/webhookdelivery.js";
import { WebhookEndpoint$inboundSchema as WebhookEndpoint49 } from "polar-sdk-0.49/models/components/webhookendpoint.js";

/** A reader of one shape. */
export type Reader = { safeParse: (value: unknown) => { success: boolean; error?: unknown } };

export const readers38 = {
  Product: Product38,
  Organization: Organization38,
  Customer: Customer38,
  CustomerState: CustomerState38,
  Checkout: Checkout38,
  CheckoutPublic: CheckoutPublic38,
  CheckoutPublicConfirmed: CheckoutPublicConfirmed38,
  CustomerSession: CustomerSession38,
  CustomerPortalCustomer: CustomerPortalCustomer38,
  Benefit: Benefit38,
  BenefitGrant: BenefitGrant38,
  CheckoutLink: CheckoutLink38,
  FileList: FileList38,
  FileUpload: FileUpload38,
  Meter: Meter38,
  CustomField: CustomField38,
  Discount: Discount38,
  Order: Order38,
  Payment: Payment38,
  Refund: Refund38,
  WebhookEndpoint: WebhookEndpoint38,
  WebhookDelivery: WebhookDelivery38,
} satisfies Record<string, Reader>;

export const readers49 = {
  Product: Product49,
  Organization: Organization49,
  Customer: Customer49,
  CustomerState: CustomerState49,
  Checkout: Checkout49,
  CheckoutPublic: CheckoutPublic49,
  CheckoutPublicConfirmed: CheckoutPublicConfirmed49,
  CustomerSession: CustomerSession49,
  CustomerPortalCustomer: CustomerPortalCustomer49,
  Benefit: Benefit49,
  BenefitGrant: BenefitGrant49,
  CheckoutLink: CheckoutLink49,
  FileList: FileList49,
  FileUpload: FileUpload49,
  Meter: Meter49,
  CustomField: CustomField49,
  Discount: Discount49,
  Order: Order49,
  Payment: Payment49,
  PaymentMethod: PaymentMethod49,
  Refund: Refund49,
  WebhookEndpoint: WebhookEndpoint49,
  WebhookDelivery: WebhookDelivery49,
} satisfies Record<string, Reader>;

/** Every event type that the closed client lists. */
export const closedEventTypes: string[] = Object.values(eventTypes38);
