/** Computes the alert rules of deploy/alerts.yml over two scrapes: the part of PromQL that they use, and nothing else. */
import { readFileSync } from "node:fs";
import { parse } from "yaml";

type Labels = Record<string, string>;
type Sample = { labels: Labels; value: number };
type Scrape = ReadonlyMap<string, Sample[]>;
type Result = number | Sample[];
export type AlertRule = { alert: string; expr: string; for?: string; labels: Labels };

export const readAlertRules = (): AlertRule[] =>
  (parse(readFileSync("deploy/alerts.yml", "utf8")) as { groups: { rules: AlertRule[] }[] }).groups.flatMap(
    ({ rules }) => rules,
  );

/** Read what a server shows to Prometheus. `up` is what Prometheus adds. */
export function parseScrape(text: string | null): Scrape {
  const scrape = new Map<string, Sample[]>([["up", [{ labels: { job: "floe" }, value: text === null ? 0 : 1 }]]]);
  for (const line of (text ?? "").split("\n")) {
    const [, name, written = "", value] = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined) continue;
    const labels = Object.fromEntries(
      [...written.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key, text]),
    );
    scrape.set(name, [...(scrape.get(name) ?? []), { labels, value: Number(value) }]);
  }
  return scrape;
}

const tokenPattern = /\s*(>=|==|[<>(){}[\],/]|=~|=|"[^"]*"|\d+(?:\.\d+)?[mhs]?|[a-zA-Z_:]+)/y;
function listTokens(text: string): string[] {
  const tokens: string[] = [];
  for (tokenPattern.lastIndex = 0; tokenPattern.lastIndex < text.trimEnd().length; ) {
    const found = tokenPattern.exec(text);
    if (!found?.[1]) throw new Error(`This is not understood: ${text}`);
    tokens.push(found[1]);
  }
  return tokens;
}

const unitSeconds: Labels = { s: "1", m: "60", h: "3600" };
const comparisons: Record<string, (a: number, b: number) => boolean> = {
  ">": (a, b) => a > b,
  "<": (a, b) => a < b,
  ">=": (a, b) => a >= b,
  "==": (a, b) => a === b,
};

/** Compute an expression. `seconds` lie between the scrapes, so that a counter's rate is its difference over them. */
class Evaluation {
  #at = 0;
  readonly text: string;
  readonly tokens: string[];
  readonly earlier: Scrape;
  readonly later: Scrape;
  readonly seconds: number;
  constructor(text: string, scrapes: { earlier: Scrape; later: Scrape; seconds: number }) {
    this.text = text;
    this.tokens = listTokens(text);
    this.earlier = scrapes.earlier;
    this.later = scrapes.later;
    this.seconds = scrapes.seconds;
  }
  compute(): Result {
    const result = this.#readAnd();
    if (this.#at < this.tokens.length)
      throw new Error(`Behind ${this.tokens[this.#at]} of ${this.text} is something else.`);
    return result;
  }
  #take(expected?: string): string {
    const token = this.tokens[this.#at];
    if (token === undefined || (expected !== undefined && token !== expected))
      throw new Error(`${expected} is expected in ${this.text}, and not ${token}.`);
    this.#at += 1;
    return token;
  }
  #has(token: string): boolean {
    if (this.tokens[this.#at] !== token) return false;
    this.#at += 1;
    return true;
  }
  #readAnd(): Result {
    let left = this.#readComparison();
    for (;;) {
      if (this.#has("and")) left = (this.#readComparison() as Sample[]).length > 0 ? left : [];
      else if (this.#has("or")) left = [...(left as Sample[]), ...(this.#readComparison() as Sample[])].slice(0, 1);
      else return left;
    }
  }
  #readComparison(): Result {
    const left = this.#readQuotient();
    const compare = comparisons[this.tokens[this.#at] ?? ""];
    if (!compare) return left;
    this.#at += 1;
    if (this.#has("on")) this.#readNames();
    const right = this.#readQuotient();
    const limit = typeof right === "number" ? right : (right[0]?.value ?? Number.NaN);
    return (left as Sample[]).filter(({ value }) => compare(value, limit));
  }
  #readQuotient(): Result {
    const left = this.#readTerm();
    if (!this.#has("/")) return left;
    const [[dividend], [divisor]] = [left as Sample[], this.#readTerm() as Sample[]];
    return dividend && divisor ? [{ labels: {}, value: dividend.value / divisor.value }] : [];
  }
  #readNames(): string[] {
    const names: string[] = [];
    this.#take("(");
    while (!this.#has(")")) names.push(this.#take());
    return names.filter((name) => name !== ",");
  }
  #readTerm(): Result {
    if (this.#has("(")) {
      const inner = this.#readAnd();
      this.#take(")");
      return inner;
    }
    const token = this.#take();
    if (token === "vector") {
      this.#take("(");
      const value = Number(this.#take());
      this.#take(")");
      return [{ labels: {}, value }];
    }
    if (/^\d/.test(token)) return Number(token);
    if (token === "sum") {
      const names = this.#has("by") ? this.#readNames() : [];
      return sum(this.#readArgument(), names);
    }
    if (token === "rate" || token === "increase") return this.#readArgument(token);
    if (token === "histogram_quantile") {
      this.#take("(");
      const share = Number(this.#take());
      this.#take(",");
      const buckets = this.#readAnd() as Sample[];
      this.#take(")");
      return computeQuantile(share, buckets);
    }
    return this.#readSelector(token, this.later);
  }
  #readArgument(change?: "rate" | "increase"): Sample[] {
    this.#take("(");
    const name = this.tokens[this.#at] ?? "";
    if (change === undefined) {
      const inner = this.#readAnd() as Sample[];
      this.#take(")");
      return inner;
    }
    this.#at += 1;
    const start = this.#at;
    const later = this.#readSelector(name, this.later);
    this.#at = start;
    const earlier = this.#readSelector(name, this.earlier);
    this.#take("[");
    const [, count = "", unit = ""] = /^(\d+)([smh])$/.exec(this.#take()) ?? [];
    const window = Number(count) * Number(unitSeconds[unit]);
    this.#take("]");
    this.#take(")");
    return later.map(({ labels, value }) => {
      const before = earlier.find((one) => JSON.stringify(one.labels) === JSON.stringify(labels))?.value ?? 0;
      const perSecond = (value - before) / Math.max(this.seconds, 1);
      return { labels, value: change === "rate" ? perSecond : perSecond * Math.min(window, this.seconds) };
    });
  }
  #readSelector(name: string, scrape: Scrape): Sample[] {
    const wanted: ((labels: Labels) => boolean)[] = [];
    if (this.#has("{"))
      while (!this.#has("}")) {
        const label = this.#take();
        const operator = this.#take();
        const text = JSON.parse(this.#take()) as string;
        const pattern = new RegExp(`^(?:${text})$`);
        wanted.push((labels) => (operator === "=~" ? pattern.test(labels[label] ?? "") : labels[label] === text));
        this.#has(",");
      }
    return (scrape.get(name) ?? []).filter(({ labels }) => wanted.every((matches) => matches(labels)));
  }
}

function sum(samples: readonly Sample[], names: readonly string[]): Sample[] {
  const sums = new Map<string, Sample>();
  for (const { labels, value } of samples) {
    const kept = Object.fromEntries(names.map((name) => [name, labels[name] ?? ""]));
    const key = JSON.stringify(kept);
    sums.set(key, { labels: kept, value: (sums.get(key)?.value ?? 0) + value });
  }
  return [...sums.values()];
}

/** The lowest bound below which the share lies. */
function computeQuantile(share: number, buckets: readonly Sample[]): Sample[] {
  const sorted = buckets
    .map(({ labels, value }) => ({ bound: labels.le === "+Inf" ? Number.POSITIVE_INFINITY : Number(labels.le), value }))
    .toSorted((a, b) => a.bound - b.bound);
  const total = sorted.at(-1)?.value ?? 0;
  const found = sorted.find(({ value }) => value >= share * total);
  return total > 0 && found ? [{ labels: {}, value: found.bound }] : [];
}

/** The alerts that would begin to fire, whatever time they wait. */
export const listFiring = (earlier: string | null, later: string | null, seconds: number): string[] =>
  readAlertRules()
    .filter(({ expr }) => {
      const scrapes = { earlier: parseScrape(earlier), later: parseScrape(later), seconds };
      const result = new Evaluation(expr, scrapes).compute();
      return typeof result !== "number" && result.length > 0;
    })
    .map(({ alert }) => alert);
