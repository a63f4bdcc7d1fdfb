/** Polar's client of events with all strategies that it ships, as its own documents use them: what they send is counted. */
import { Readable } from "node:stream";
import { PutObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { context, trace } from "@opentelemetry/api";
import { BasicTracerProvider, BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { Ingestion, PolarTraceExporter } from "@polar-sh/ingestion";
import { DeltaTimeStrategy } from "@polar-sh/ingestion/strategies/DeltaTime";
import { LLMStrategy } from "@polar-sh/ingestion/strategies/LLM";
import { S3Strategy } from "@polar-sh/ingestion/strategies/S3";
import { StreamStrategy } from "@polar-sh/ingestion/strategies/Stream";
import { generateText, streamText } from "ai";
import { convertArrayToReadableStream, MockLanguageModelV2 } from "ai/test";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let ingestion: ReturnType<typeof Ingestion>;
const polar = () => ({ accessToken: seller.key, serverURL: floe.url });
let customerId: string;
const ada = { externalCustomerId: "user-1" };
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  ingestion = Ingestion(polar());
  const { id } = await seller.client.customers.create({ body: { email: "ada@example.com", external_id: "user-1" } });
  customerId = id;
});
afterAll(() => floe?.close());

/** A meter of the events of this name, and what a customer has used of it as soon as there is anything. */
async function meter(name: string, property: string) {
  const { id: meter_id } = await seller.client.meters.create({
    body: {
      name,
      filter: { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: name }] },
      aggregation: { func: "sum", property },
    },
  });
  const used = async () => {
    const { items } = await seller.client.customerMeters.list({ query: { meter_id } });
    return items[0]?.consumed_units;
  };
  return { used, metadata: async () => (await list(name)).map((event) => event.metadata) };
}
const list = async (name: string) =>
  (await seller.client.events.list({ query: { name: [name], sorting: "timestamp", depth: 5 } as never })).items;

test("events as they are", async () => {
  const { used } = await meter("plain", "n");
  const events: Parameters<typeof ingestion.ingest>[0] = [
    { name: "plain", customerId, metadata: { n: 2, text: "a", flag: true } },
    { name: "plain", customerId, externalId: "once", metadata: { n: 3, _cost: { amount: 1.5, currency: "usd" } } },
  ];
  expect(await ingestion.ingest(events)).toEqual({ inserted: 2, duplicates: 0 });
  expect(await ingestion.ingest(events.slice(1))).toEqual({ inserted: 0, duplicates: 1 });
  expect(await used()).toBe(5);
});

test("the tokens and the cost of a language model, asked at once and as a stream", async () => {
  const { used, metadata } = await meter("openai-usage", "totalTokens");
  const usage = { inputTokens: 100, cachedInputTokens: 10, outputTokens: 200, totalTokens: 300 };
  const finish = { finishReason: "stop", usage } as const;
  const said = "Good morning.";
  const model = new MockLanguageModelV2({
    provider: "openai.responses",
    modelId: "gpt-4o",
    doGenerate: async () => ({ ...finish, content: [{ type: "text", text: said }], warnings: [] }),
    doStream: async () => ({
      stream: convertArrayToReadableStream([
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: said },
        { type: "text-end", id: "1" },
        { type: "finish", ...finish },
      ]),
    }),
  });
  const client = ingestion
    .strategy(new LLMStrategy(model))
    // As the documents of the client write the currency.
    .cost(({ totalTokens }) => ({ amount: Number(totalTokens) * 0.25, currency: "USD" }))
    .ingest("openai-usage")
    .client(ada);
  expect((await generateText({ model: client, prompt: "Good morning?" })).text).toBe(said);
  expect(await streamText({ model: client, prompt: "Good morning?" }).text).toBe(said);
  expect(await used()).toBe(600);
  const [event] = await metadata();
  expect(event).toEqual({
    ...{ vendor: "openai.responses", model: "gpt-4o", ...usage, strategy: "LLM" },
    _llm: {
      ...{ vendor: "openai.responses", model: "gpt-4o", input_tokens: 100, cached_input_tokens: 10 },
      ...{ output_tokens: 200, total_tokens: 300 },
    },
    _cost: { amount: "75", currency: "usd" },
  });
});

test("the bytes of a stream", async () => {
  const { used } = await meter("bytes", "bytes");
  const stream = ingestion.strategy(new StreamStrategy<Readable>(Readable.from([Buffer.alloc(700), Buffer.alloc(5)])));
  for await (const _ of stream.ingest("bytes").client(ada));
  expect(await eventually(used, "what was used")).toBe(705);
});

test("what is put into a bucket", async () => {
  const { used, metadata } = await meter("uploads", "bytes");
  const bucket = new S3Client({
    region: "eu-central-1",
    credentials: { accessKeyId: "a", secretAccessKey: "b" },
    requestHandler: { handle: async () => ({ response: { statusCode: 200, headers: {} } }) },
  });
  const client = ingestion.strategy(new S3Strategy(bucket)).ingest("uploads").client(ada);
  await client.send(new PutObjectCommand({ Bucket: "b", Key: "k", Body: "12345", ContentType: "text/plain" }));
  expect(await eventually(used, "what was used")).toBe(5);
  expect(await metadata()).toEqual([{ bytes: 5, bucket: "b", key: "k", contentType: "text/plain", strategy: "S3" }]);
});

test("how long something took", async () => {
  const { used } = await meter("seconds", "deltaTime");
  let now = 10;
  const begin = ingestion
    .strategy(new DeltaTimeStrategy(() => now))
    .ingest("seconds")
    .client(ada);
  const end = begin();
  now = 12.5;
  expect(end()).toBe(2.5);
  expect(await eventually(used, "what was used")).toBe(2.5);
});

test("the spans of a trace, whose parts end before what they are parts of", async () => {
  const { used } = await meter("call", "tokens");
  const processor = new BatchSpanProcessor(new PolarTraceExporter(polar()));
  const tracer = new BasicTracerProvider({ spanProcessors: [processor] }).getTracer("test");
  const attributes = { externalCustomerId: "user-1" };
  const answer = tracer.startSpan("answer", { attributes });
  const within = trace.setSpan(context.active(), answer);
  for (const tokens of [5, 7]) tracer.startSpan("call", { attributes: { ...attributes, tokens } }, within).end();
  answer.end();
  await processor.forceFlush();
  expect(await used()).toBe(12);
  const [root] = await list("answer");
  expect((await list("call")).map(({ parent_id }) => parent_id)).toEqual([root?.id, root?.id]);
});
