/** The text format of Prometheus: counters, gauges and histograms with few labels. */

type Labels = Readonly<Record<string, string>>;
/** A metric has at most this many series, so that no caller fills the memory; further ones are counted together. */
const seriesMax = 2000;
const otherLabel = "other";

const escapeLabel = (text: string): string =>
  text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
const writeLabels = (labels: Labels): string => {
  const parts = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(value)}"`);
  return parts.length === 0 ? "" : `{${parts.join(",")}}`;
};

type Series<T> = { labels: Labels; value: T };
function createSeries<T>(create: () => T) {
  const all = new Map<string, Series<T>>();
  return {
    all,
    find(labels: Labels): Series<T> {
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

type Metric = { name: string; write(): string[] | Promise<string[]> };
const writeHead = (name: string, help: string, type: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
];

export function createRegistry() {
  const metrics: Metric[] = [];
  return {
    createCounter(name: string, help: string) {
      const series = createSeries(() => 0);
      const write = () => [
        ...writeHead(name, help, "counter"),
        ...[...series.all.values()].map(({ labels, value }) => `${name}${writeLabels(labels)} ${value}`),
      ];
      metrics.push({ name, write });
      return {
        add(labels: Labels = {}, by = 1): void {
          series.find(labels).value += by;
        },
      };
    },
    /** The values are read when they are asked for. */
    createGauge(name: string, help: string, read: () => [Labels, number][] | Promise<[Labels, number][]>): void {
      const write = async () => [
        ...writeHead(name, help, "gauge"),
        ...(await read()).map(([labels, value]) => `${name}${writeLabels(labels)} ${value}`),
      ];
      metrics.push({ name, write });
    },
    createHistogram(name: string, help: string, bounds: readonly number[]) {
      const series = createSeries(() => ({ counts: bounds.map(() => 0), count: 0, sum: 0 }));
      const writeOne = ({
        labels,
        value: { counts, count, sum },
      }: Series<{ counts: number[]; count: number; sum: number }>) => [
        ...bounds.map((bound, at) => `${name}_bucket${writeLabels({ ...labels, le: String(bound) })} ${counts[at]}`),
        `${name}_bucket${writeLabels({ ...labels, le: "+Inf" })} ${count}`,
        `${name}_sum${writeLabels(labels)} ${sum}`,
        `${name}_count${writeLabels(labels)} ${count}`,
      ];
      const write = () => [...writeHead(name, help, "histogram"), ...[...series.all.values()].flatMap(writeOne)];
      metrics.push({ name, write });
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
    async render(): Promise<string> {
      const parts = await Promise.all(metrics.map((metric) => metric.write()));
      return `${parts.flat().join("\n")}\n`;
    },
  };
}
