/** Traces and metrics for a receiver of OpenTelemetry, by OTLP over HTTP. Loaded only where FLOE_OTLP_URL is set. */
import {
  DiagLogLevel,
  diag,
  SpanKind as Kind,
  ROOT_CONTEXT,
  SpanStatusCode,
  trace,
  ValueType,
} from "@opentelemetry/api";
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  type MetricData,
  type MetricProducer,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { truncateToWhole } from "../../../shared/money.ts";
import type { Log } from "../context.ts";
import { registry } from "./metrics.ts";
import type { Sampled } from "./registry.ts";
import { type SpanKind, setSpanStarter } from "./spans.ts";

export type OtlpOptions = {
  /** The address of the receiver: `/v1/traces` and `/v1/metrics` come behind it. */
  url: string;
  /** The share of traces that is sent, of those that the caller has not decided about. */
  share: number;
  version: string;
  instance: string;
  role: string;
  log: Log;
  exportEveryMs?: number;
};

const exportEveryMsStandard = 30_000;
const exportTimeoutMs = 10_000;
const closeMs = 3_000;
/** A receiver that is away is said at most this often. */
const saidEveryMs = 60_000;

const kinds: Record<SpanKind, Kind> = { server: Kind.SERVER, client: Kind.CLIENT, consumer: Kind.CONSUMER };

/** Send spans and metrics until it is closed. A receiver that does not answer delays no request. */
export function openOtlp(options: OtlpOptions): { close(): Promise<void> } {
  const { url, share, version, log, exportEveryMs = exportEveryMsStandard } = options;
  warnOfFailures(log);
  const resource = resourceFromAttributes({
    "service.name": "floe",
    "service.version": version,
    "service.instance.id": options.instance,
    "floe.process": options.role,
  });
  const base = url.replace(/\/+$/, "");
  const provider = new TracerProvider({
    resource,
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(share) }),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({ url: `${base}/v1/traces`, timeoutMillis: exportTimeoutMs }),
        scheduledDelayMillis: Math.min(exportEveryMs, 5_000),
      }),
    ],
  });
  const reader = new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter({ url: `${base}/v1/metrics`, timeoutMillis: exportTimeoutMs }),
    exportIntervalMillis: exportEveryMs,
    exportTimeoutMillis: Math.min(exportEveryMs, exportTimeoutMs),
    metricProducers: [createProducer(resource)],
  });
  const meters = new MeterProvider({ resource, readers: [reader] });
  startSpans(provider, version);
  return {
    async close() {
      setSpanStarter(undefined);
      const late = Promise.withResolvers<void>();
      const timer = setTimeout(late.resolve, closeMs);
      await Promise.race([Promise.allSettled([provider.shutdown(), meters.shutdown()]), late.promise]);
      clearTimeout(timer);
      diag.disable();
    },
  };
}

function warnOfFailures(log: Log): void {
  let saidAt = Number.NEGATIVE_INFINITY;
  const warn = (message: string): void => {
    if (performance.now() - saidAt < saidEveryMs) return;
    saidAt = performance.now();
    log.warn({ reason: message.slice(0, 300) }, "Traces or metrics could not be sent to FLOE_OTLP_URL.");
  };
  const ignore = (): void => undefined;
  diag.setLogger(
    { error: warn, warn, info: ignore, debug: ignore, verbose: ignore },
    { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true },
  );
}

function startSpans(provider: TracerProvider, version: string): void {
  const tracer = provider.getTracer("floe", version);
  setSpanStarter((name, kind, attributes, parent) => {
    const [, traceId = "", spanId = "", flags = "00"] = parent?.split("-") ?? [];
    const around = parent
      ? trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true })
      : ROOT_CONTEXT;
    const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, around);
    const own = span.spanContext();
    return {
      traceparent: `00-${own.traceId}-${own.spanId}-${own.traceFlags.toString(16).padStart(2, "0")}`,
      end(more, error) {
        span.setAttributes(more);
        // The message of an error may have values of a customer: the kind of the error is enough here.
        if (error !== undefined) {
          const type = error instanceof Error ? error.name : "unknown";
          span.setAttribute("error.type", type).setStatus({ code: SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  });
}

type Resource = ReturnType<typeof resourceFromAttributes>;
type Time = [number, number];
const convertTime = (ms: number): Time => {
  const millis = truncateToWhole(ms);
  return [(millis - (millis % 1000)) / 1000, (millis % 1000) * 1e6];
};

/** The metrics of the registry, which Prometheus reads too: so both receivers show the same names and values. */
function createProducer(resource: Resource): MetricProducer {
  const startTime = convertTime(performance.timeOrigin);
  return {
    async collect() {
      const endTime = convertTime(performance.timeOrigin + performance.now());
      const metrics = (await registry.collect()).map((metric) => convertMetric(metric, { startTime, endTime }));
      return { resourceMetrics: { resource, scopeMetrics: [{ scope: { name: "floe" }, metrics }] }, errors: [] };
    },
  };
}

function convertMetric(metric: Sampled, times: { startTime: Time; endTime: Time }): MetricData {
  const common = {
    descriptor: {
      name: metric.name,
      description: metric.help,
      unit: metric.name.includes("_seconds") ? "s" : metric.name.endsWith("_bytes") ? "By" : "",
      valueType: ValueType.DOUBLE,
    },
    aggregationTemporality: AggregationTemporality.CUMULATIVE,
  };
  if (metric.type === "histogram")
    return {
      ...common,
      dataPointType: DataPointType.HISTOGRAM,
      dataPoints: metric.samples.map(([attributes, { counts, count, sum }]) => ({
        ...times,
        attributes,
        value: {
          // Here each count is of its own bucket alone, and the last is of what lies above all bounds.
          buckets: {
            boundaries: [...metric.bounds],
            counts: [...counts, count].map((upTo, at, all) => upTo - (all[at - 1] ?? 0)),
          },
          count,
          sum,
        },
      })),
    };
  const dataPoints = metric.samples.map(([attributes, value]) => ({ ...times, attributes, value }));
  return metric.type === "counter"
    ? { ...common, dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints }
    : { ...common, dataPointType: DataPointType.GAUGE, dataPoints };
}
