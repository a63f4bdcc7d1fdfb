/** Counters, gauges and histograms with few labels: as the text of Prometheus, and as samples for other receivers. */

type Labels = Readonly<Record<string, string>>;
/** A metric has at most this many series, so that no caller fills the memory; further ones are counted together. */
const seriesMax = 2000;
const otherLabel = "other";

/** Counts of a histogram: those up to each bound include those up to the bounds below. */
export type Distribution = { counts: readonly number[]; count: number; sum: number };
/** A metric with its values at this moment. */
export type Sampled = { name: string; help: string } & (
  | { type: "counter" | "gauge"; samples: readonly [Labels, number][] }
  | { type: "histogram"; bounds: readonly number[]; samples: readonly [Labels, Distribution][] }
);

const escapeLabel = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
const writeLabels = (labels: Labels): string => {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
};

function createSeries<T>(create: () => T) {
  const all = new Map<string, { labels: Labels; value: T }>();
  return {
    list: (): [Labels, T][] => [...all.values()].map(({ labels, value }) => [labels, value]),
    find(labels: Labels): { labels: Labels; value: T } {
      const key = Object.values(labels).join("\u0000");
      const found = all.get(key);
      if (found) return found;
      if (all.size >= seriesMax && !Object.values(labels).every((value) => value === otherLabel))
        return this.find(Object.fromEntries(Object.keys(labels).map((name) => [name, otherLabel])));
      const made = { labels, value: create() };
      all.set(key, made);
      return made;
    },
  };
}

type Metric = { name: string; read(): Sampled | Promise<Sampled> };

function writeMetric(metric: Sampled): string[] {
  const { name, help, type } = metric;
  const head = [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
  if (metric.type !== "histogram")
    return [...head, ...metric.samples.map(([labels, value]) => `${name}${writeLabels(labels)} ${value}`)];
  return [
    ...head,
    ...metric.samples.flatMap(([labels, { counts, count, sum }]) => [
      ...metric.bounds.map(
        (bound, at) => `${name}_bucket${writeLabels({ ...labels, le: String(bound) })} ${counts[at]}`,
      ),
      `${name}_bucket${writeLabels({ ...labels, le: "+Inf" })} ${count}`,
      `${name}_sum${writeLabels(labels)} ${sum}`,
      `${name}_count${writeLabels(labels)} ${count}`,
    ]),
  ];
}

export function createRegistry() {
  const metrics: Metric[] = [];
  const collect = (): Promise<Sampled[]> => Promise.all(metrics.map((metric) => metric.read()));
  return {
    createCounter(name: string, help: string) {
      const series = createSeries(() => 0);
      metrics.push({ name, read: () => ({ name, help, type: "counter", samples: series.list() }) });
      return {
        add(labels: Labels = {}, by = 1): void {
          series.find(labels).value += by;
        },
      };
    },
    /** The values are read when they are asked for. */
    createGauge(name: string, help: string, read: () => [Labels, number][] | Promise<[Labels, number][]>): void {
      metrics.push({ name, read: async () => ({ name, help, type: "gauge", samples: await read() }) });
    },
    createHistogram(name: string, help: string, bounds: readonly number[]) {
      const series = createSeries(() => ({ counts: bounds.map(() => 0), count: 0, sum: 0 }));
      metrics.push({ name, read: () => ({ name, help, type: "histogram", bounds, samples: series.list() }) });
      return {
        observe(labels: Labels, seconds: number): void {
          const { value } = series.find(labels);
          value.count += 1;
          value.sum += seconds;
          for (let at = bounds.length - 1; at >= 0 && seconds <= (bounds[at] ?? 0); at -= 1)
            value.counts[at] = (value.counts[at] ?? 0) + 1;
        },
      };
    },
    /** Forget gauges, whose readers belong to a server. */
    remove(names: readonly string[]): void {
      for (const name of names) {
        const at = metrics.findIndex((metric) => metric.name === name);
        if (at >= 0) metrics.splice(at, 1);
      }
    },
    /** Read every metric, for a receiver that is sent them. */
    collect,
    async render(): Promise<string> {
      const read = await collect();
      return `${read.flatMap(writeMetric).join("\n")}\n`;
    },
  };
}
