import type { Operation } from "../../../shared/contract.ts";
import { ApiError } from "../../../shared/errors.ts";
import { formatUrl } from "../../../shared/request.ts";
import type { Deps } from "../../platform/context.ts";
import type { Relayed } from "../../platform/http/relayed.ts";
import type { Hosted } from "../relay/hosted.ts";

/** Polar could not be asked, or refused what the connection needs: a sentence for the operator. */
export class PolarConnectionError extends Error {
  override readonly name = "PolarConnectionError";
}

type Asked = { params?: Record<string, unknown>; query?: Record<string, unknown>; body?: unknown };

/** Ask Polar in the name of this server. Throws where no usable answer came; a refusal other than 404 is thrown as well. */
export async function sendToPolar(
  { config }: Deps,
  hosted: Hosted,
  operation: string,
  op: Operation,
  { params, query, body }: Asked,
): Promise<Relayed> {
  const path = formatUrl(op.path, { ...(params ? { params } : {}), ...(query ? { query } : {}) });
  const call = { operation, op, path, body: body === undefined ? undefined : JSON.stringify(body), sent: undefined };
  try {
    const relayed = await hosted.relay({ ...call, token: config.POLAR_ACCESS_TOKEN ?? "" });
    if (relayed.status < 400 || relayed.status === 404) return relayed;
    throw new PolarConnectionError(`Polar refused ${op.method} ${op.path} (${relayed.status}): ${readDetail(relayed)}`);
  } catch (error) {
    throw error instanceof ApiError ? describeOutage(hosted, error.message) : error;
  }
}

function readDetail({ json }: Relayed): string {
  const { detail, error } = (json ?? {}) as { detail?: unknown; error?: unknown };
  return (typeof detail === "string" ? detail : JSON.stringify(detail ?? error ?? null)).slice(0, 500);
}

/** What an outage of Polar is, in words for the operator. */
export function describeOutage({ polar }: Hosted, reason: string): PolarConnectionError {
  return new PolarConnectionError(
    polar.getState().token === "refused"
      ? `Polar refuses POLAR_ACCESS_TOKEN at ${polar.url}. Is it a token of this address?`
      : `Polar at ${polar.url} could not be asked: ${reason}`,
  );
}
