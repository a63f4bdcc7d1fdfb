/**
 * What a seller asks an agent for, and the commands that do it, as an agent without a wrong turn would type them. A task is done
 * when the last answer, or that of `check`, matches `expect`. Words in capitals stand for what the store of the examples holds.
 */
export type Task = {
  task: string;
  commands: string[];
  /** A command that sees the state that is expected. */
  check?: string;
  expect: RegExp;
};
/** What is refused: the refusal names the command that works, which is typed next, and `expect` is its answer. */
export type Refusal = { task: string; command: string; code: number; next: RegExp; works: boolean };

const get = (kind: string, name: string, field: string): string => `floe ${kind} get ${name} --jq ${field}`;

export const tasks: Task[] = [
  { task: "What do I sell?", commands: ["floe products list --limit 30 --json name"], expect: /Pro.*Basic|Basic.*Pro/ },
  { task: "What does Pro cost?", commands: ["floe products get Pro --json name,prices.price_amount"], expect: /1900/ },
  {
    task: "Sell a wallpaper for $5",
    commands: ["floe products create --name Wallpaper --price 5.00usd --json id"],
    check: get("products", "Wallpaper", ".prices[0].price_amount"),
    expect: /^500$/m,
  },
  {
    task: "Add a yearly plan for $190 with a trial of 14 days",
    commands: ['floe products create --name "Pro yearly" --price 190.00usd/year --trial 14days --json id'],
    check: `floe products get "Pro yearly" --jq '[.recurring_interval,.trial_interval_count]|join(" ")'`,
    expect: /year 14/,
  },
  {
    task: "Rename Basic to Starter",
    commands: ["floe products update Basic --name Starter --json name"],
    check: get("products", "Starter", ".name"),
    expect: /^Starter$/m,
  },
  {
    task: "Raise Basic to $12 for new customers",
    commands: ["floe products update Basic --price 12.00usd/month --json id"],
    check: get("products", "Basic", "'[.prices[]|select(.is_archived|not)][0].price_amount'"),
    expect: /^1200$/m,
  },
  {
    task: "Stop selling News",
    commands: ["floe products archive News --yes --json id"],
    check: get("products", "News", ".is_archived"),
    expect: /^true$/m,
  },
  {
    task: "A link for Pro that I can put into the newsletter",
    commands: ["floe checkout-links create --products Pro --label spring --json url"],
    expect: /http/,
  },
  { task: "Which links do I have?", commands: ["floe checkout-links list --json label"], expect: /newsletter/ },
  {
    task: "Give everybody with the newsletter link the launch discount",
    commands: ["floe checkout-links update newsletter --discount LAUNCH20 --json id"],
    check: get("checkout-links", "newsletter", ".discount.code"),
    expect: /^LAUNCH20$/m,
  },
  {
    task: "A discount of 30 percent for three months",
    commands: ["floe discounts create --name Spring --code SPRING30 --percent 30 --for 3months --json id"],
    check: get("discounts", "SPRING30", ".basis_points"),
    expect: /^3000$/m,
  },
  {
    task: "A discount of $5 once, for Pro alone",
    commands: [
      "floe discounts create --name Five --code FIVE --amount-off 5.00usd --for once --products Pro --json id",
    ],
    check: get("discounts", "FIVE", "'.products|length'"),
    expect: /^1$/m,
  },
  {
    task: "End the launch discount with the year 2027",
    commands: ["floe discounts update LAUNCH20 --ends 2027-12-31 --json id"],
    check: get("discounts", "LAUNCH20", ".ends_at"),
    expect: /2027-12/,
  },
  {
    task: "How often was the launch discount used?",
    commands: ["floe discounts get LAUNCH20 --json redemptions_count"],
    expect: /redemptions_count/,
  },
  {
    task: "Delete the launch discount, I agree",
    commands: ["floe discounts delete LAUNCH20 --yes"],
    check: "floe discounts list --query LAUNCH20 --jq length",
    expect: /^0$/m,
  },
  {
    task: "Thank every buyer of Basic with a note",
    commands: [
      'floe benefits create --type custom --description "Thank you" --note "Come to the forum" --json id',
      'floe products set-benefits Basic --benefits "Thank you" --json id',
    ],
    check: get("products", "Basic", "'.benefits[0].description'"),
    expect: /Thank you/,
  },
  {
    task: "Let the license key be used on five machines",
    commands: ['floe benefits update "API key" --activations 5 --json id'],
    check: `floe benefits get "API key" --jq .properties.activations.limit`,
    expect: /^5$/m,
  },
  {
    task: "Who has which license key?",
    commands: ["floe license-keys list --json display_key,customer.email"],
    expect: /ada@/,
  },
  {
    task: "Block the license key C70FC7",
    commands: ["floe license-keys update C70FC7 --status disabled --json status"],
    check: get("license-keys", "C70FC7", ".status"),
    expect: /^disabled$/m,
  },
  {
    task: "Where is that license key in use?",
    commands: ["floe license-keys get C70FC7 --json activations.label"],
    expect: /desk/,
  },
  { task: "Who are my customers?", commands: ["floe customers list --json email --max 20"], expect: /ada@example.com/ },
  { task: "Find Ada", commands: ["floe customers list --query ada --json id,email"], expect: /ada@/ },
  {
    task: "Add Eve as a customer",
    commands: ["floe customers create --email eve@example.com --name Eve --json id"],
    check: get("customers", "eve@example.com", ".name"),
    expect: /^Eve$/m,
  },
  {
    task: "Note that Ada is on the gold plan",
    commands: ["floe customers update ada@example.com --metadata plan=gold --json id"],
    check: get("customers", "ada@example.com", ".metadata.plan"),
    expect: /^gold$/m,
  },
  {
    task: "What does Ada have?",
    commands: [
      "floe customers state ada@example.com --json active_subscriptions.product_id,granted_benefits.benefit_type",
    ],
    expect: /license_keys/,
  },
  {
    task: "A link by which Ada reaches her portal",
    commands: ["floe customer-sessions create --customer-id ada@example.com --json customer_portal_url"],
    expect: /portal/,
  },
  {
    task: "What has Ada bought?",
    commands: ["floe orders list --customer-id ada@example.com --json invoice_number,total_amount"],
    expect: /invoice_number/,
  },
  {
    task: "The latest orders",
    commands: ["floe orders list --max 5 --json invoice_number,total_amount,status"],
    expect: /paid/,
  },
  {
    task: "What was in the order ACME-0042?",
    commands: ["floe orders get ACME-0042 --json product.name,total_amount,items.label"],
    expect: /E-book/,
  },
  {
    task: "How did its total come about?",
    commands: ["floe orders explain ACME-0042 --json steps.depth,steps.label,steps.amount,steps.because"],
    expect: /steps|\[/,
  },
  {
    task: "Put the company on the invoice of that order",
    commands: ['floe orders update ACME-0042 --billing-name "Acme GmbH" --json billing_name'],
    check: get("orders", "ACME-0042", ".billing_name"),
    expect: /Acme GmbH/,
  },
  {
    task: "What would a refund of that order give back?",
    commands: ["floe refunds preview --order-id ORDER_ID --json remaining_amount"],
    expect: /\d/,
  },
  {
    task: "Refund $5 of that order, I agree",
    commands: ["floe refunds create --order-id ORDER_ID --amount 5.00 --reason customer_request --yes --json amount"],
    check: get("orders", "ACME-0042", ".refunded_amount"),
    expect: /^[1-9]\d*$/m,
  },
  {
    task: "Which refunds were there?",
    commands: ["floe refunds list --json amount,reason"],
    expect: /customer_request/,
  },
  { task: "Is there a dispute?", commands: ["floe disputes list --json id,status,amount"], expect: /status/ },
  { task: "Which payments failed?", commands: ["floe payments list --status failed --json id"], expect: /^\[/ },
  {
    task: "Who has subscribed?",
    commands: ["floe subscriptions list --active true --json product.name,customer.email"],
    expect: /acme@/,
  },
  {
    task: "What will Bob pay next?",
    commands: ["floe subscriptions forecast SUBSCRIPTION_ID --json charges.due_amount"],
    expect: /\d/,
  },
  {
    task: "What would it cost Bob to change to Pro now?",
    commands: [
      "floe subscriptions preview SUBSCRIPTION_ID --product-id Pro --proration-behavior invoice --json charge.due_amount,currency",
    ],
    expect: /"due_amount":1000\}.*usd/,
  },
  {
    task: "Change Bob to Pro, I agree",
    commands: [
      "floe subscriptions update SUBSCRIPTION_ID --product-id Pro --proration-behavior prorate --yes --json id",
    ],
    check: "floe subscriptions get SUBSCRIPTION_ID --jq .product.name",
    expect: /^Pro$/m,
  },
  {
    task: "Cancel Bob's subscription at the end of the month, I agree",
    commands: ["floe subscriptions cancel SUBSCRIPTION_ID --yes --json cancel_at_period_end"],
    check: "floe subscriptions get SUBSCRIPTION_ID --jq .cancel_at_period_end",
    expect: /^true$/m,
  },
  {
    task: "Pause Bob's subscription, I agree",
    commands: ["floe subscriptions pause SUBSCRIPTION_ID --yes --json id"],
    check: "floe subscriptions get SUBSCRIPTION_ID --jq .status",
    expect: /paused|active/,
  },
  { task: "What has happened with usage?", commands: ["floe meters list --json name"], expect: /Tokens/ },
  {
    task: "Who used how many tokens?",
    commands: ["floe customer-meters list --json customer.email,consumed_units"],
    expect: /230/,
  },
  {
    task: "Record 20 tokens for user_1",
    commands: [
      `floe events ingest --events '[{"name":"completion","external_customer_id":"user_1","metadata":{"tokens":20}}]' --json inserted`,
    ],
    check: "floe events list --name completion --jq length",
    expect: /^[2-9]$/m,
  },
  {
    task: "How is this month?",
    commands: ["floe overview get --json currency,figures.month_revenue,figures.monthly_recurring_revenue"],
    expect: /usd.*"month_revenue":\d/,
  },
  { task: "What needs my attention?", commands: ["floe status --json status"], expect: /status/ },
  { task: "Where are my events sent?", commands: ["floe webhooks list --json url,enabled"], expect: /true/ },
  {
    task: "What could not be delivered?",
    commands: ["floe webhooks deliveries --succeeded false --json id"],
    expect: /^\[/,
  },
  {
    task: "Stop sending events to my program",
    commands: ["floe webhooks disable https://example.com/hooks --json enabled"],
    check: "floe webhooks list --jq '.[] | select(.url == \"https://example.com/hooks\") | .enabled'",
    expect: /^false$/m,
  },
];

export const refusals: Refusal[] = [
  {
    task: "A product that is not there",
    command: "floe products get Prro --json name",
    code: 6,
    next: /floe products (list|get)/,
    works: true,
  },
  {
    task: "A misspelt flag",
    command: "floe products create --nam Pro",
    code: 64,
    next: /floe products create/,
    works: true,
  },
  { task: "A misspelt command", command: "floe product list", code: 64, next: /floe products list/, works: true },
  { task: "A misspelt verb", command: "floe products lst", code: 64, next: /floe products list/, works: true },
  { task: "Delete without consent", command: "floe discounts delete LAUNCH20", code: 64, next: /--yes$/, works: true },
  { task: "Archive without consent", command: "floe products archive News", code: 64, next: /--yes$/, works: true },
  {
    task: "Refund without consent",
    command: "floe refunds create --order-id ORDER_ID --amount all --reason duplicate",
    code: 64,
    next: /--yes$/,
    works: true,
  },
  {
    task: "Revoke without consent",
    command: "floe subscriptions revoke SUBSCRIPTION_ID",
    code: 64,
    next: /--yes$/,
    works: true,
  },
  {
    task: "An amount that may mean two",
    command: "floe products create --name Two --price 24",
    code: 64,
    next: /--price 24\.00$/,
    works: true,
  },
  {
    task: "A field that there is not",
    command: "floe products list --json nme",
    code: 64,
    next: /--json name$/,
    works: true,
  },
];
