import type { Filter } from "../api/meters.ts";
import { printFilter } from "../meter-filter.ts";
import { decimalMoney } from "../money.ts";
import { unitPriceOf } from "./amounts.ts";
import type { Fields } from "./compare.ts";
import { type Kind, kinds } from "./document.ts";
import { foundFields, type Names, type Rows } from "./forms.ts";
import { type Current, namesIn } from "./plan.ts";

const hundredth = 100;
/** What a file need not say, because it is so when nobody says otherwise. */
const standards: Record<Kind, Fields> = {
  meters: { unit: "scalar", archived: false },
  benefits: { visibility: "public" },
  custom_fields: {},
  products: { visibility: "public", archived: false },
  discounts: {},
  checkout_links: { allow_discount_codes: true, require_billing_address: false },
  webhooks: { format: "raw", enabled: true },
};

const isNothing = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && Object.keys(value).length === 0);

const short = (fields: Fields, standard: Fields = {}): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isNothing(value) && value !== standard[name]));

/** With its currency always: the same file may serve an organization whose usual currency is another. */
function shortPrice(price: Fields): Fields | string {
  const { fixed, custom, seats, unit_amount, cap, ...rest } = price;
  const code = String(price.currency);
  const written = (amount: unknown) => (typeof amount === "number" ? decimalMoney(amount, code) : amount);
  const each = (fields: Fields): Fields =>
    Object.fromEntries(Object.entries(fields).map(([name, amount]) => [name, written(amount)]));
  // What is said in two words needs no fields.
  if (!price.tax_behavior && fixed !== undefined) return `${written(fixed)} ${code}`;
  if (!price.tax_behavior && price.free) return `free ${code}`;
  return short(
    {
      ...(fixed === undefined ? {} : { fixed: written(fixed) }),
      ...(custom === undefined ? {} : { custom: short(each(custom as Fields)) }),
      ...rest,
      ...(unit_amount === undefined ? {} : { unit_price: unitPriceOf(String(unit_amount), code), cap: written(cap) }),
      ...(seats === undefined
        ? {}
        : { seats: (seats as Fields[]).map((tier) => short({ ...tier, price: written(tier.price) })) }),
    },
    { tiers: "volume" },
  );
}

type Period = { interval: string; count: number } | null;

/** How often and for how much: one price in words holds both. */
function pricing(prices: (Fields | string)[], period: Period): Fields {
  const [only, ...others] = prices;
  if (typeof only !== "string" || others.length > 0)
    return { recurring: period?.count === 1 ? period.interval : period, prices };
  if (!period) return { price: only };
  return { price: `${only}/${period.count === 1 ? period.interval : `${period.count}${period.interval}s`}` };
}

function shortAggregation(aggregation: Fields): string {
  return aggregation.func === "count" ? "count" : `${String(aggregation.func)} ${String(aggregation.property)}`;
}

/** One thing as a file says it in the fewest words. */
export function itemOf<K extends Kind>(kind: K, key: string, row: Rows[K], names: Names): Fields {
  const fields = foundFields(kind, row, names);
  switch (kind) {
    case "meters":
      return short(
        {
          ...fields,
          filter: printFilter(fields.filter as Filter),
          aggregation: shortAggregation(fields.aggregation as Fields),
        },
        standards.meters,
      );
    case "benefits":
      return short({ ...fields, properties: short(fields.properties as Fields) }, standards.benefits);
    case "custom_fields":
      return short({ ...fields, properties: short(fields.properties as Fields) }, { slug: key });
    case "products": {
      const { recurring, prices, ...rest } = fields;
      const asked = fields.custom_fields as { field: string; required: boolean }[];
      return short(
        {
          name: fields.name,
          ...pricing((prices as Fields[]).map(shortPrice), recurring as Period),
          ...rest,
          custom_fields: asked.map((one) => (one.required ? one : one.field)),
        },
        standards.products,
      );
    }
    case "discounts": {
      const { basis_points, amount, ...rest } = fields;
      const amounts = Object.entries((amount ?? {}) as Record<string, number>);
      return short({
        name: rest.name,
        code: rest.code,
        ...(basis_points === undefined ? {} : { percent: Number(basis_points) / hundredth }),
        amount: Object.fromEntries(amounts.map(([code, value]) => [code, decimalMoney(value, code)])),
        ...rest,
      });
    }
    default:
      return short(fields, standards[kind]);
  }
}

/** A key made of a name: `AI tokens` → `ai-tokens`, or `ai-tokens-2` when that is taken. */
export function proposeKey(name: string, taken: ReadonlySet<string>): string {
  const base =
    name
      .normalize("NFKD")
      .toLowerCase()
      .replace(/[\u0300-\u036f]/g, "")
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 50) || "item";
  for (let number = 1; ; number += 1) {
    const key = number === 1 ? base : `${base}-${number}`;
    if (!taken.has(key)) return key;
  }
}

const titleOf = (kind: Kind, row: Rows[Kind]): string => {
  const fields: Fields = { ...row };
  const title =
    {
      benefits: fields.description,
      checkout_links: fields.label,
      webhooks: fields.name ?? fields.url,
      custom_fields: fields.slug,
    }[kind as string] ?? fields.name;
  return typeof title === "string" && title !== "" ? title : kind.replace(/s$/, "");
};

export type Proposed = { kind: Kind; key: string; id: string; name: string };

/** The whole catalogue as a file, and the keys that are proposed for what has none. */
export function documentOf(catalog: string, current: Current): { document: Fields; proposed: Proposed[] } {
  const entries = [...current.entries];
  const proposed: Proposed[] = [];
  for (const kind of kinds) {
    const taken = new Set(entries.filter((entry) => entry.kind === kind).map(({ key }) => key));
    for (const row of current.rows[kind] as Rows[Kind][]) {
      if (entries.some((entry) => entry.kind === kind && entry.id === row.id)) continue;
      const name = titleOf(kind, row);
      const key = proposeKey(name, taken);
      taken.add(key);
      entries.push({ kind, key, id: row.id });
      proposed.push({ kind, key, id: row.id, name });
    }
  }
  const names = namesIn({ ...current, entries });
  const document: Fields = { version: 1, catalog };
  for (const kind of kinds) {
    const section: Fields = {};
    for (const { key, id } of entries.filter((entry) => entry.kind === kind)) {
      const row = (current.rows[kind] as Rows[Kind][]).find((one) => one.id === id);
      if (row) section[key] = itemOf(kind, key, row as never, names);
    }
    if (Object.keys(section).length > 0) document[kind] = section;
  }
  return { document, proposed };
}
