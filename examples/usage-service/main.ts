import { createPolar, errors } from "@polar-sh/sdk/2026-10";
import { createUsageReporter } from "./reporter.ts";
import { createService } from "./service.ts";

const { FLOE_API_KEY, FLOE_SERVER = "http://localhost:4455", PORT = "3001" } = process.env;
if (!FLOE_API_KEY) {
  console.error("Set FLOE_API_KEY to a key with the scope events:write.");
  process.exit(64);
}

const polar = createPolar({ accessToken: FLOE_API_KEY, baseUrl: FLOE_SERVER, timeout: 10 });
const reporter = createUsageReporter({
  send: (events) => polar.events.ingest({ events }),
  isRejected: (error) => error instanceof errors.HTTPValidationError,
  // Lines that `floe events ingest --from-file` accepts after they are corrected.
  onRejected(events, error) {
    console.error("The server rejected these events:", error);
    for (const event of events) console.error(JSON.stringify(event));
  },
});
const service = createService(reporter);
service.listen(Number(PORT), () => console.error("Counting words at", service.address()));

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => {
    service.close();
    reporter.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error("Usage events were lost:", error);
        process.exit(1);
      },
    );
  });
