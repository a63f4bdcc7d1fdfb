/** What a receiver must stand: signatures, redirects, slowness, repetitions, old and unknown events, many at once. */
import type { Check } from "../../shared/api/diagnostics.ts";
import { buildCheck } from "../doctor/checks.ts";
import type { ProbeResult, Prober } from "./probe.ts";

const slowMs = 3000;
/** The server gives up an attempt after ten seconds. */
const lateMs = 8000;
/** Signatures older than five minutes are refused by the libraries of Standard Webhooks. */
const oldSeconds = 3600;
const together = 5;

const isAccepted = ({ http_code }: ProbeResult): boolean => http_code !== null && http_code >= 200 && http_code < 300;
const isRefused = ({ http_code }: ProbeResult): boolean => http_code !== null && http_code >= 400 && http_code < 500;
const describe = ({ http_code, error }: ProbeResult): string =>
  http_code === null ? `no answer (${error})` : `${http_code}`;

/** Whether a first, correct event is accepted, and how soon. Without that the other checks say nothing. */
export function checkFirst(url: string, first: ProbeResult): Check[] {
  const isTls = url.startsWith("https:");
  if (first.http_code === null) {
    const isCertificate = /certificate|CERT|self.signed|SSL|TLS/i.test(first.error ?? "");
    const fix = isCertificate
      ? "Install a certificate of a public authority, with its chain."
      : "Is the receiver running, and can the server reach it?";
    return [buildCheck(isCertificate ? "tls" : "reachable", "failure", `No answer: ${first.error}`, fix)];
  }
  const reachable = buildCheck("reachable", "ok", `The receiver answers ${first.http_code}.`);
  const tls = isTls
    ? buildCheck("tls", "ok", "The certificate is accepted.")
    : buildCheck(
        "tls",
        "warning",
        "The address has no TLS, which only a server on the same machine allows.",
        "Use https for real events.",
      );
  return [reachable, tls, checkRedirect(first), checkLatency(first), checkAccepted(first)].filter(
    (check) => check !== undefined,
  );
}

function checkRedirect(first: ProbeResult): Check | undefined {
  const code = first.http_code ?? 0;
  if (code < 300 || code >= 400) return undefined;
  return buildCheck(
    "redirect",
    "failure",
    `The receiver redirects (${code}), and events do not follow it.`,
    "Give the endpoint the address to which it redirects.",
  );
}

function checkLatency({ duration_ms }: ProbeResult): Check {
  const message = `The answer took ${duration_ms} ms.`;
  const fix = "Answer at once, and do the work afterwards: an attempt ends after ten seconds.";
  if (duration_ms > lateMs) return buildCheck("latency", "failure", message, fix);
  return duration_ms > slowMs ? buildCheck("latency", "warning", message, fix) : buildCheck("latency", "ok", message);
}

function checkAccepted(first: ProbeResult): Check {
  if (isAccepted(first)) return buildCheck("accepted", "ok", "A correct event is accepted.");
  const code = first.http_code ?? 0;
  const fix =
    code >= 500
      ? "Read the receiver's log. floe repeats the event ten times; after ten failed events the endpoint is switched off."
      : code === 401 || code === 403 || code === 400
        ? "Check the signature with the endpoint's own secret, over the bytes of the body as they came."
        : "Answer 200 to 299 once the event is stored.";
  return buildCheck("accepted", "failure", `A correct event is answered with ${describe(first)}.`, fix);
}

/** Everything else that may happen to a receiver. */
export async function checkRobustness(prober: Prober, first: ProbeResult): Promise<Check[]> {
  const checks: Check[] = [];
  const answers: ProbeResult[] = [];
  const probe = async (event: Parameters<Prober["send"]>[0]): Promise<ProbeResult> => {
    const answer = await prober.send(event);
    answers.push(answer);
    return answer;
  };
  const library = "Verify with a library of Standard Webhooks, and answer 400 or 401 where it refuses.";
  const wrong = await probe({ signature: "wrong" });
  checks.push(requireRefusal("wrong_signature", "An event with a wrong signature", wrong, "failure", library));
  const missing = await probe({ signature: "missing" });
  checks.push(requireRefusal("missing_signature", "An event without a signature", missing, "failure", library));
  const old = await probe({ age_seconds: oldSeconds });
  checks.push(
    requireRefusal(
      "replay",
      "An event that was signed an hour ago",
      old,
      "warning",
      "Refuse a webhook-timestamp that is more than five minutes old.",
    ),
  );
  const malformed = await probe({ content: "malformed" });
  checks.push(
    requireRefusal("malformed", "A body that is not JSON", malformed, "warning", "Answer 400, not 200 and not 500."),
  );
  const again = await probe({ id: first.id });
  checks.push(
    requireAcceptance(
      "repeated",
      "The same event again",
      again,
      "Events may come twice: answer 200 to a webhook-id that you know.",
    ),
  );
  const earlier = await probe({ age_seconds: 60 });
  checks.push(
    requireAcceptance(
      "out_of_order",
      "An event from before the last one",
      earlier,
      "Events may come late: compare their timestamp, and answer 200.",
    ),
  );
  const unknown = await probe({ content: "unknown_type" });
  checks.push(
    requireAcceptance(
      "unknown_type",
      "An event of an unknown type",
      unknown,
      "New types come with new versions: answer 200 and ignore them.",
      "warning",
    ),
  );
  const parallel = await Promise.all(Array.from({ length: together }, () => probe({})));
  const failed = parallel.find((answer) => !isAccepted(answer));
  checks.push(
    requireAcceptance(
      "parallel",
      `Each of ${together} events at once`,
      failed ?? first,
      "Let the receiver take several requests at a time.",
    ),
  );
  checks.push(checkCrashes(answers));
  return checks;
}

function requireRefusal(
  id: string,
  what: string,
  answer: ProbeResult,
  worst: "failure" | "warning",
  fix: string,
): Check {
  if (isRefused(answer)) return buildCheck(id, "ok", `${what} is refused with ${answer.http_code}.`);
  const status = isAccepted(answer) ? worst : "warning";
  return buildCheck(id, status, `${what} is answered with ${describe(answer)}, not 400 to 499.`, fix);
}

function requireAcceptance(
  id: string,
  what: string,
  answer: ProbeResult,
  fix: string,
  worst: "failure" | "warning" = "failure",
): Check {
  if (isAccepted(answer)) return buildCheck(id, "ok", `${what} is accepted.`);
  return buildCheck(id, worst, `${what} is answered with ${describe(answer)}.`, fix);
}

function checkCrashes(answers: readonly ProbeResult[]): Check {
  const crashed = answers.filter(({ http_code }) => http_code === null || http_code >= 500).length;
  if (crashed === 0) return buildCheck("server_errors", "ok", "The receiver never answered with 500 or more.");
  const message = `${crashed} of ${answers.length} test events were answered with 500 or more, or not at all.`;
  return buildCheck(
    "server_errors",
    "warning",
    message,
    "Such events are repeated up to ten times, with growing pauses.",
  );
}
