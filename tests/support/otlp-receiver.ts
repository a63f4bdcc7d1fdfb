/** A receiver of OpenTelemetry in this process: keeps the traces and metrics that it is sent over HTTP. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";

type Value = { stringValue?: string; intValue?: number; doubleValue?: number };
type Attribute = { key: string; value: Value };
export type ReceivedSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: Attribute[];
  status: { code?: number };
};
type Point = { attributes: Attribute[]; asDouble?: number; count?: number; bucketCounts?: number[]; sum?: number };
export type ReceivedMetric = {
  name: string;
  unit?: string;
  sum?: { isMonotonic: boolean; dataPoints: Point[] };
  gauge?: { dataPoints: Point[] };
  histogram?: { dataPoints: Point[] };
};
type Resource = { attributes: Attribute[] };
type Traces = { resourceSpans?: { resource: Resource; scopeSpans: { spans: ReceivedSpan[] }[] }[] };
type Metrics = { resourceMetrics?: { scopeMetrics: { metrics: ReceivedMetric[] }[] }[] };

export const readAttributes = (list: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue]));

export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = [];
  const resources: Record<string, unknown>[] = [];
  let metrics: ReceivedMetric[] = [];
  let status = 200;
  const headers: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    headers.push(request.headers["x-tenant"] as string | undefined);
    json(request).then((body) => {
      for (const one of (body as Traces).resourceSpans ?? []) {
        resources.push(readAttributes(one.resource.attributes));
        spans.push(...one.scopeSpans.flatMap((scope) => scope.spans));
      }
      const received = ((body as Metrics).resourceMetrics ?? []).flatMap((one) =>
        one.scopeMetrics.flatMap((scope) => scope.metrics),
      );
      if (received.length > 0) metrics = received;
      response.writeHead(status, { "content-type": "application/json" }).end("{}");
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    resources,
    headers,
    /** The metrics that came last. */
    metrics: () => metrics,
    answer(code: number) {
      status = code;
    },
    close: () =>
      new Promise<void>((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
      }),
  };
}
