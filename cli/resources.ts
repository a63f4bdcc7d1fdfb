/** One resource of the contract as it looks on the command line. What is not said here follows from the contract. */
export type Look = {
  /** The name of its commands, where it is not the contract's own. */
  name?: string;
  summary: string;
  /** One of them, in words: "product". */
  noun: string;
  /** Columns of a table: `path` or `path:kind`, kind being money, date, flag, price or id. */
  columns: string[];
  /** The field of an update that archives, where the resource has one. */
  archive?: string;
  /** What archiving means, in the question before it; products can no longer be bought. */
  archiveMeans?: string;
  /** Other names for operations of the contract; `false` leaves one out. */
  names?: Record<string, string | false>;
  /** Field of the wire → shorthand that writes it. */
  shorthands?: Record<string, string>;
  /** Columns of an operation whose rows are something else. */
  columnsOf?: Record<string, string[]>;
  /** There is one of it, the one in use: no command takes an id. */
  current?: true;
  /** By command. */
  examples?: Record<string, string[]>;
};

/** The resources in the order of `floe --help`; `false` has no commands. */
export const looks: Record<string, Look | false> = {
  products: {
    summary: "What you sell",
    noun: "product",
    columns: ["id:id", "name", "prices:price", "is_archived:flag", "created_at:date"],
    archive: "is_archived",
    names: { setBenefits: "set-benefits" },
    shorthands: { prices: "price", trial_interval: "trial" },
    examples: {
      list: ["floe products list", "floe products list --json id,name", "floe products list --all --is-archived false"],
      create: [
        "floe products create --name Pro --price 19.00",
        'floe products create --name "Tip jar" --price 5+        # pay what you want, from 5.00',
        "floe products create --name Sample --price free",
      ],
      update: ['floe products update ID --name "Pro 2"', "floe products update ID --price 25eur"],
    },
  },
  benefits: {
    summary: "What products give",
    noun: "benefit",
    columns: ["id:id", "type", "description", "visibility", "created_at:date"],
  },
  discounts: {
    summary: "Prices taken off",
    noun: "discount",
    columns: ["id:id", "name", "code", "type", "duration", "redemptions_count", "ends_at:date"],
    shorthands: { basis_points: "percent", amount: "amount_off", duration: "for" },
    examples: {
      list: ["floe discounts list --query launch"],
      create: [
        "floe discounts create --name Launch --code LAUNCH20 --percent 20 --for 3months",
        "floe discounts create --name Fiver --amount-off 5.00eur --for forever",
      ],
    },
  },
  checkoutLinks: {
    summary: "Addresses that open a checkout",
    noun: "checkout link",
    columns: ["id:id", "label", "products", "url", "created_at:date"],
    examples: { create: ["floe checkout-links create --products PRODUCT_ID --label newsletter --json url"] },
  },
  customFields: {
    summary: "Questions that the checkout asks",
    noun: "custom field",
    columns: ["id:id", "slug", "type", "name", "created_at:date"],
    examples: {
      create: ['floe custom-fields create --type text --slug vat_note --name "Note on the invoice"'],
    },
  },
  meters: {
    summary: "What you count of its use",
    noun: "meter",
    columns: ["id:id", "name", "aggregation.func", "archived_at:date", "created_at:date"],
    archive: "is_archived",
    archiveMeans: "It then counts nothing.",
  },
  files: {
    summary: "What buyers download, and pictures",
    noun: "file",
    columns: ["id:id", "name", "service", "size_readable", "is_uploaded:flag", "created_at:date"],
    // Both are parts of floe files upload.
    names: { create: false, uploaded: false },
    shorthands: { version: "file_version" },
  },
  customers: {
    summary: "Who buys from you",
    noun: "customer",
    columns: ["id:id", "email", "name", "external_id", "created_at:date"],
    names: { getState: "state", getStateExternal: "state-external" },
    examples: {
      list: ["floe customers list --query ada"],
      create: ["floe customers create --email ada@example.com --name Ada --external-id user_1"],
    },
  },
  checkouts: {
    summary: "Pages on which a customer pays",
    noun: "checkout",
    columns: ["id:id", "status", "product.name", "customer_email", "total_amount:money", "created_at:date"],
    examples: {
      create: ["floe checkouts create --products PRODUCT_ID", "floe checkouts create --products PRODUCT_ID --json url"],
    },
  },
  orders: {
    summary: "What was sold",
    noun: "order",
    columns: ["id:id", "status", "product.name", "customer.email", "total_amount:money", "created_at:date"],
    examples: { list: ["floe orders list", "floe orders list --all --json id,total_amount,customer.email"] },
  },
  payments: {
    summary: "Attempts to pay",
    noun: "payment",
    columns: ["id:id", "status", "method", "amount:money", "order_id:id", "created_at:date"],
    examples: { list: ["floe payments list --status failed"] },
  },
  webhooks: {
    summary: "Where your events are sent",
    noun: "webhook endpoint",
    columns: ["id:id", "url", "events", "enabled:flag", "created_at:date"],
    names: {
      listEndpoints: "list",
      getEndpoint: "get",
      createEndpoint: "create",
      updateEndpoint: "update",
      deleteEndpoint: "delete",
      resetSecret: "reset-secret",
      listDeliveries: "deliveries",
      redeliver: "redeliver",
    },
    columnsOf: { deliveries: ["id:id", "webhook_event.type", "succeeded:flag", "http_code", "created_at:date"] },
    examples: {
      create: ["floe webhooks create --url https://example.com/hooks --events order.paid,order.created"],
      redeliver: ["floe webhooks redeliver EVENT_ID"],
    },
  },
  organizations: {
    name: "organization",
    current: true,
    summary: "Your store: its name, features and settings",
    noun: "organization",
    columns: ["id:id", "slug", "name"],
    // Which there are, and which is in use, is the matter of floe orgs.
    names: { list: false },
    examples: {
      get: ["floe organization get", "floe organization get --json name,feature_settings"],
      update: [
        "floe organization update --name Acme --email help@acme.example",
        "floe organization update --feature-settings seat_based_pricing_enabled=true",
        "floe organization update --customer-portal-settings subscription.pause=true",
      ],
    },
  },
  // What a checkout page in a browser calls with its own secret.
  checkoutClient: false,
  // Has commands of its own: floe plan, apply and more.
  catalog: false,
};
