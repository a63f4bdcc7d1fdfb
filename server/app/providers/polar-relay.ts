import { type Api, api } from "../../../shared/api/index.ts";
import { formatUrl } from "../../../shared/client.ts";
import type { Operation } from "../../../shared/contract.ts";
import { ApiError, notPermitted } from "../../../shared/errors.ts";
import type { Config } from "../../platform/config.ts";
import type { Ctx, Identity } from "../../platform/context.ts";
import { Relayed } from "../../platform/http/relayed.ts";
import type { Provider } from "../../platform/provider.ts";

const timeoutMs = 30_000;
const standardUrl = "https://api.polar.sh";
/** In place of the id of a customer who is known at hosted Polar alone: nobody here has it. */
const nobody = "00000000-0000-0000-0000-000000000000";

/** Whose session a token is that hosted Polar gave: it is handed on, and hosted Polar says whether it is good. */
export async function identifyHosted({ config }: { config: Config }, token: string): Promise<Identity | undefined> {
  if (!/^polar_[cm]st_/.test(token)) return undefined;
  return {
    kind: "customer",
    organization_id: config.POLAR_ORGANIZATION ?? "",
    customer_id: nobody,
    session_id: nobody,
    member: null,
    token,
    clock_offset_ms: 0,
    sandbox: false,
  };
}

type Input = { params?: object; query?: object; body?: unknown };

/** Ask hosted Polar for an operation of the contract, and answer what it says, refusals included. */
export async function relayOperation(
  config: Config,
  { method, path }: Operation,
  { params, query, body }: Input,
  token: string | null,
): Promise<Relayed | undefined> {
  const url = formatUrl(path, { params: { ...params }, query: { ...query } });
  const answer = await fetch(new URL(url, config.POLAR_URL ?? standardUrl), {
    method,
    headers: {
      accept: "application/json",
      "polar-version": "2026-10",
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    redirect: "manual",
    signal: AbortSignal.timeout(timeoutMs),
  }).catch(() => null);
  const text = await answer?.text().catch(() => null);
  // A bad access token is this server's fault, not the caller's.
  const isOurFault = answer?.status === 401 && token !== null && token === config.POLAR_ACCESS_TOKEN;
  if (
    !answer ||
    isOurFault ||
    typeof text !== "string" ||
    answer.status >= 500 ||
    (answer.status >= 300 && answer.status < 400)
  )
    throw new ApiError("ServiceUnavailable", "Polar could not be asked. Try again.");
  if (answer.status === 429)
    throw new ApiError("TooManyRequests", "Polar's rate limit is reached.", {
      "Retry-After": answer.headers.get("retry-after") ?? "1",
    });
  if (text === "") return undefined;
  try {
    return new Relayed(answer.status, JSON.parse(text));
  } catch {
    throw new ApiError("ServiceUnavailable", "Polar could not be asked. Try again.");
  }
}

/**
 * The operations of a resource as hosted Polar answers them, computed from the contract; those in `own` are floe's alone, and are
 * refused. `tokenOf` says with which token is asked.
 */
export function relayResource<R extends keyof Api>(
  config: Config,
  resource: R,
  tokenOf: (ctx: Ctx) => string | null,
  own: readonly (keyof Api[R])[] = [],
): Provider[R] {
  const answers = Object.entries(api[resource] as Record<string, Operation>).map(([name, op]) => [
    name,
    (own as readonly string[]).includes(name)
      ? () => {
          throw notPermitted("This is done by floe's own engine, not by hosted Polar.");
        }
      : (ctx: Ctx, input: Input) => relayOperation(config, op, input, tokenOf(ctx)),
  ]);
  return Object.fromEntries(answers);
}
