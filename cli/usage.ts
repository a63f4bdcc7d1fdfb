/** What is counted of what customers use, and what is told of it. */
export const usageViews = {
  meters: {
    summary: "What you bill by usage",
    noun: "meter",
    columns: ["name:name", "aggregation.func", "archived_at:date", "created_at:date", "id:id"],
    archive: "is_archived",
    archiveMeans: "It then counts nothing.",
    namedBy: ["name"],
    sample: "Tokens",
    shorthands: { filter: "filter", aggregation: "aggregation" },
    examples: {
      create: [
        `floe meters create --name "API calls" --filter 'name eq "api_call"' --aggregation count`,
        `floe meters create --name Tokens --filter 'name eq "completion" and tokens gt 100' --aggregation "sum tokens"`,
      ],
      update: ['floe meters update Tokens --name "AI tokens"'],
      quantities: [
        "floe meters quantities Tokens --interval day --start-timestamp 2026-11-01T00:00:00Z --end-timestamp 2026-11-30T00:00:00Z",
      ],
    },
  },
  events: {
    summary: "What your customers use",
    noun: "event",
    columns: ["timestamp:date", "name:name", "customer.email", "external_customer_id", "id:key"],
    columnsOf: { names: ["name:name", "source", "occurrences", "first_seen:date", "last_seen:date"] },
    examples: {
      list: ["floe events list --name completion --customer-id ada@example.com"],
      ingest: [
        `floe events ingest --events '[{"name": "completion", "external_customer_id": "user-1", "metadata": {"tokens": 230}}]'`,
        "floe events ingest --representation --data @events.json",
        "floe events ingest --from-file events.ndjson            # a line for each event",
      ],
    },
  },
  customerMeters: {
    name: "customer-meters",
    summary: "What each customer has used",
    noun: "customer meter",
    columns: [
      ...["customer.email:name", "meter.name", "consumed_units:units", "credited_units:units", "balance:units"],
      ...["modified_at:date", "id:id"],
    ],
  },
};
