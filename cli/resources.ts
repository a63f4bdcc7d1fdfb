import { benefitColumns, entitlementViews } from "./entitlements.ts";
import { moneyViews, orderView } from "./orders.ts";
import { cancellationView, grantRunView, memberView, seatView } from "./seats.ts";
import { storeViews } from "./store-views.ts";
import { importView, migrationView, type SubscriptionAction, subscriptionView } from "./subscriptions.ts";
import { usageViews } from "./usage.ts";

/** One resource of the contract as it looks on the command line. What is not said here follows from the contract. */
export type ResourceView = {
  /** The name of its commands, where it is not the contract's own. */
  name?: string;
  summary: string;
  /** One of them, in words: "product". */
  noun: string;
  /**
   * Columns of a table, what it is called first: `path` or `path:kind`, kind being name, key, money, date, flag, price,
   * state, off, lasts or id.
   */
  columns: string[];
  /** Commands of their own for what an update does. */
  verbs?: Record<string, SubscriptionAction>;
  /** The field of an update that archives, where the resource has one. */
  archive?: string;
  /** What archiving means, in the question before it; products can no longer be bought. */
  archiveMeans?: string;
  /** Other names for operations of the contract. Those that have no command are in `cli/command-map.ts`. */
  names?: Record<string, string>;
  /** Field of the wire → shorthands that write it, or parts of it. */
  shorthands?: Record<string, string | string[]>;
  /**
   * Fields by which people call one of them, in place of its id; several with blanks between them are one name. Or the
   * group whose things the ids of its paths are of.
   */
  namedBy?: string[];
  /** Its list knows no names, but those of this group: a name begins with that of one of them. */
  through?: string;
  within?: string;
  /** Field of another operation that is taken by create and update too → that operation, which is called afterwards. */
  sentBy?: Record<string, string>;
  /** Columns of an operation whose rows are something else. */
  columnsOf?: Record<string, string[]>;
  /** Commands that hold others, which are named by two words in `names`: what each is for. */
  parts?: Record<string, string>;
  /** A command for what was just made, `NAME` being what it is called. */
  next?: string;
  /** By command, the field of its answer that is an address to look at: --open opens it in the browser. */
  opens?: Record<string, string>;
  /** There is one of it, the one in use: no command takes an id. */
  current?: true;
  /** What one of them is called in examples: `Pro`. */
  sample?: string;
  /** By command. A command that needs nothing but what it is about has one without being named here. */
  examples?: Record<string, string[]>;
};

const cardColumns = [
  "method_metadata.brand:name",
  "method_metadata.last4",
  "method_metadata.exp_month",
  "method_metadata.exp_year",
  "is_default:flag",
  "created_at:date",
  "id:key",
];

/** The resources in the order of `floe --help`. */
export const resourceViews: Record<string, ResourceView> = {
  products: {
    summary: "What you sell",
    noun: "product",
    columns: ["name:name", "prices:price", "is_archived:flag", "created_at:date", "id:id"],
    next: "floe checkout-links create --products NAMES",
    archive: "is_archived",
    names: { setBenefits: "set-benefits" },
    namedBy: ["name"],
    sample: "Pro",
    shorthands: {
      prices: ["price", "seats"],
      trial_interval: "trial",
      attached_custom_fields: "attached_custom_fields",
    },
    sentBy: { benefits: "setBenefits" },
    examples: {
      list: ["floe products list", "floe products list --json id,name", "floe products list --all --is-archived false"],
      create: [
        "floe products create --name Pro --price 19.00",
        'floe products create --name "Tip jar" --price 5.00+     # pay what you want, from 5.00',
        "floe products create --name Sample --price free",
        'floe products create --name Team --seats 1-9:9.00,10-:8.00/month --benefits "API key" --trial 14days',
        "floe products create --name API --price 19.00/month --price metered:api-calls:0.002 --custom-fields vat_note,size!",
      ],
      update: [
        'floe products update Pro --name "Pro 2"',
        "floe products update PRODUCT_ID --price 25.00usd --benefits 'API key,The book'",
      ],
      "set-benefits": ["floe products set-benefits Pro --benefits 'API key'"],
    },
  },
  benefits: {
    summary: "What products give",
    noun: "benefit",
    next: "floe products update PRODUCT --benefits NAMES",
    ...benefitColumns,
    namedBy: ["description"],
    sample: "API key",
    shorthands: {
      properties: [
        ...["note", "prefix", "expires", "activations", "customer_admin", "limit_usage", "files", "meter", "units"],
        ...["rollover", "guild_token", "role_id", "kick_member", "repository", "permission"],
      ],
    },
    examples: {
      create: [
        'floe benefits create --type license_keys --description "API key" --prefix ACME --expires 1year --activations 3',
        'floe benefits create --type downloadables --description "The book" --files book.pdf',
        'floe benefits create --type meter_credit --description "1000 calls" --meter api-calls --units 1000 --rollover',
        'floe benefits create --type github_repository --description "The sources" --repository acme/book --permission pull',
        'floe benefits create --type custom --description "Our thanks" --note "Come to the forum"',
        'floe benefits create --type discord --description "The club" --guild-token TOKEN --role-id 1234567890',
      ],
      update: ['floe benefits update "API key" --activations 5'],
    },
  },
  ...entitlementViews,
  discounts: {
    summary: "Prices taken off",
    noun: "discount",
    columns: ["name:name", "code", "basis_points:off", "duration:lasts", "redemptions_count", "ends_at:date", "id:id"],
    namedBy: ["code", "name"],
    sample: "LAUNCH20",
    shorthands: {
      basis_points: "percent",
      amount: "amount_off",
      duration: "for",
      starts_at: "starts",
      ends_at: "ends",
    },
    examples: {
      list: ["floe discounts list --query launch"],
      create: [
        "floe discounts create --name Launch --code LAUNCH20 --percent 20 --for 3months",
        "floe discounts create --name Fiver --amount-off 5.00eur --for forever",
        "floe discounts create --name Advent --percent 24 --for once --starts 2026-12-01 --ends 2026-12-24T18:00 --products Pro",
      ],
      update: [
        "floe discounts update LAUNCH20 --ends 2027-12-31",
        "floe discounts update LAUNCH20 --products Pro,Team",
      ],
    },
  },
  tax: {
    summary: "Where you collect tax, and its rates",
    noun: "tax registration",
    columns: ["country:name", "state", "scheme", "rate", "tax_id", "starts_at:date", "ends_at:date", "id:id"],
    parts: { registrations: "Where you collect tax" },
    names: {
      listRegistrations: "registrations list",
      getRegistration: "registrations get",
      createRegistration: "registrations create",
      updateRegistration: "registrations update",
      deleteRegistration: "registrations delete",
    },
    examples: {
      "registrations create": [
        "floe tax registrations create --country DE --tax-id DE123456788",
        "floe tax registrations create --country DE --scheme oss        # consumers in all of the EU",
        "floe tax registrations create --country US --state TX",
        "floe tax registrations create --country GH --rate 20           # where no rate is known",
      ],
      "registrations update": ["floe tax registrations update TAX_REGISTRATION_ID --ends-at 2027-12-31T00:00:00Z"],
      rates: ["floe tax rates --country FR", "floe tax rates --country CA --state QC"],
    },
  },
  checkoutLinks: {
    summary: "Addresses that open a checkout",
    noun: "checkout link",
    columns: ["label:name", "products", "url", "created_at:date", "id:id"],
    namedBy: ["label"],
    sample: "newsletter",
    shorthands: { discount_id: "discount" },
    examples: {
      create: [
        "floe checkout-links create --products Pro --label newsletter",
        "floe checkout-links create --products Pro --label newsletter --json url",
      ],
      update: ["floe checkout-links update newsletter --discount LAUNCH20"],
    },
  },
  customFields: {
    summary: "Questions that the checkout asks",
    noun: "custom field",
    columns: ["slug:name", "name", "type", "created_at:date", "id:id"],
    examples: {
      create: [
        'floe custom-fields create --type text --slug vat_note --name "Note on the invoice" --max-length 80',
        "floe custom-fields create --type select --slug size --name Size --options s=Small,m=Large",
        "floe custom-fields create --type number --slug age --name Age --min 18",
        'floe custom-fields create --type date --slug start --name "First day" --min 2026-12-01',
        'floe custom-fields create --type checkbox --slug terms --name "I have read the terms"',
      ],
      update: ["floe custom-fields update vat_note --max-length 120"],
    },
    namedBy: ["slug", "name"],
    sample: "vat_note",
    shorthands: {
      properties: [
        ...["options", "min_length", "max_length", "textarea", "min", "max"],
        ...["form_label", "form_help_text", "form_placeholder"],
      ],
    },
  },
  ...usageViews,
  files: {
    summary: "What buyers download, and pictures",
    noun: "file",
    columns: ["name:name", "service", "size_readable", "is_uploaded:flag", "created_at:date", "id:id"],
    namedBy: ["name"],
    sample: "book.pdf",
    shorthands: { version: "file_version" },
    examples: { update: ['floe files update book.pdf --name "Second edition.pdf"'] },
  },
  customers: {
    summary: "Who buys from you",
    noun: "customer",
    columns: ["email:name", "name", "external_id", "created_at:date", "id:id"],
    names: {
      getState: "state",
      getStateExternal: "state-external",
      getBalance: "balance",
      exportData: "export-data",
      getErasure: "erasure",
      listPaymentMethods: "payment-methods",
      listPaymentMethodsExternal: "payment-methods-external",
    },
    columnsOf: {
      "payment-methods": cardColumns,
      "payment-methods-external": cardColumns,
    },
    namedBy: ["email", "external_id", "name"],
    sample: "ada@example.com",
    shorthands: {
      billing_address: ["line1", "line2", "postal_code", "city", "state", "country"],
      tax_id: "tax_id",
    },
    examples: {
      list: ["floe customers list --query ada"],
      export: ["floe customers export > customers.csv", "floe customers export -o customers.csv"],
      create: [
        "floe customers create --email ada@example.com --name Ada --external-id user_1",
        'floe customers create --email vat@example.com --line1 "Am Tor 1" --city Berlin --country DE --tax-id DE123456788',
      ],
      update: ['floe customers update ada@example.com --name "Ada L."'],
      "update-external": ["floe customers update-external EXTERNAL_ID --metadata plan=gold"],
    },
  },
  checkouts: {
    summary: "Pages on which a customer pays",
    noun: "checkout",
    columns: ["product.name:name", "status:state", "total_amount:money", "customer_email", "created_at:date", "id:key"],
    examples: {
      create: [
        "floe checkouts create --products Pro --open",
        "floe checkouts create --products Pro --discount-id LAUNCH20 --customer-email ada@example.com",
        "floe checkouts create --products PRODUCT_ID --json url",
      ],
      update: ["floe checkouts update CHECKOUT_ID --customer-email ada@example.com"],
    },
    opens: { create: "url", get: "url" },
  },
  orders: orderView,
  subscriptions: subscriptionView,
  ...moneyViews,
  metrics: {
    summary: "How your store does: sales, subscriptions, checkouts",
    noun: "metric",
    columns: [],
    opens: { link: "url" },
    examples: {
      export: [
        "floe metrics export --start-date 2026-01-01 --end-date 2026-12-31 --interval month -o metrics.csv",
        "floe metrics export --start-date 2026-11-01 --end-date 2026-11-30 --interval day --metrics revenue,orders",
      ],
    },
  },
  webhooks: {
    summary: "Where your events are sent",
    noun: "webhook endpoint",
    columns: ["url:name", "enabled:flag", "events", "created_at:date", "id:id"],
    namedBy: ["url", "name"],
    sample: "https://example.com/hooks",
    names: {
      listEndpoints: "list",
      getEndpoint: "get",
      createEndpoint: "create",
      updateEndpoint: "update",
      deleteEndpoint: "delete",
      resetSecret: "reset-secret",
      listDeliveries: "deliveries",
      redeliver: "redeliver",
      startReplay: "replay",
      getReplay: "get-replay",
      stopReplay: "stop-replay",
    },
    columnsOf: {
      deliveries: [
        ...["created_at:date", "webhook_event.type:name", "http_code", "duration_ms", "url:url", "succeeded:flag"],
        ...["response", "webhook_event.id:id"],
      ],
    },
    examples: {
      create: ["floe webhooks create --url https://example.com/hooks --events order.paid,order.created"],
      update: ["floe webhooks update https://example.com/hooks --events order.paid,order.refunded"],
      deliveries: [
        "floe webhooks deliveries --succeeded false",
        "floe webhooks deliveries --endpoint-id https://example.com/hooks --event-type order.paid",
      ],
      "reset-secret": [
        "floe webhooks reset-secret https://example.com/hooks",
        "floe webhooks reset-secret https://example.com/hooks --overlap 24h --yes",
      ],
      replay: ["floe webhooks replay https://example.com/hooks --since 2026-05-31T04:00:00Z --events order.paid"],
      "get-replay": ["floe webhooks get-replay REPLAY_ID"],
      "stop-replay": ["floe webhooks stop-replay REPLAY_ID"],
      redeliver: [
        "floe webhooks redeliver WEBHOOK_EVENT_ID",
        "floe webhooks redeliver --failed --since 2h",
        "floe webhooks redeliver --failed --endpoint https://example.com/hooks --event order.paid --yes",
      ],
    },
  },
  organizations: {
    name: "organization",
    current: true,
    summary: "Your store: its name, features and settings",
    noun: "organization",
    columns: ["id:id", "slug", "name"],
    examples: {
      get: ["floe organization get", "floe organization get --json name,feature_settings"],
      update: [
        "floe organization update --name Acme --email help@acme.example",
        "floe organization update --feature-settings seat_based_pricing_enabled=true",
        "floe organization update --customer-portal-settings subscription.pause=true",
      ],
    },
  },
  ...storeViews,
  customerSessions: {
    name: "customer-sessions",
    summary: "What opens the customer portal for one of your customers",
    noun: "customer session",
    columns: ["customer.email:name", "customer_portal_url", "expires_at:date", "token", "id:key"],
    opens: { create: "customer_portal_url" },
    examples: {
      create: [
        "floe customer-sessions create --customer-id ada@example.com",
        "floe customer-sessions create --customer-id ada@example.com --json token",
      ],
    },
  },
  customerMembers: memberView,
  grantRuns: grantRunView,
  subscriptionMigrations: migrationView,
  imports: importView,
  cancellations: cancellationView,
  customerSeats: seatView,
};
