import type { Api } from "../../shared/api/index.ts";
import type { Output } from "../../shared/contract.ts";
import { metrics } from "../../shared/routes.ts";
import type { Wire } from "../api.ts";
import { callApi } from "../call-api.ts";
import { buildOrganizationHeaders, readOrganization } from "../home/calls.ts";

export type MetricsAboutState = Wire<Output<Api["metrics"]["about"]>>;
export type Limits = Wire<Output<Api["metrics"]["limits"]>>;
export type MeasuredSeries = Wire<Output<Api["metrics"]["get"]>>;
export type Slug = keyof MeasuredSeries["metrics"];
export type Interval = keyof Limits["intervals"];
/** What is asked for: days from the first to the last, which is counted, in a time zone. */
export type Question = {
  interval: Interval;
  start_date: string;
  end_date: string;
  timezone: string;
  product_id: string;
};

const keptAs = "metrics";

/** What the address brings behind its #: by which metrics are read, and of what. */
export function readAddress(): { token: string | null; asked: URLSearchParams } {
  const asked = new URLSearchParams(location.hash.slice(1));
  const given = asked.get("token");
  // Out of the address, where it would be shown, kept in the history and sent to others; this tab knows it.
  if (given) sessionStorage.setItem(keptAs, given);
  asked.delete("token");
  if (given)
    history.replaceState(null, "", `${location.pathname}${location.search}${asked.size > 0 ? `#${asked}` : ""}`);
  return { token: sessionStorage.getItem(keptAs), asked };
}

/** Everything that the page asks: by the token of an address, or else by the session of a seller. */
export function openMetrics(token: string | null) {
  const headers = token === null ? buildOrganizationHeaders(readOrganization()) : {};
  const options = { headers, ...(token !== null && { token }) };
  return {
    about: () => callApi(metrics.about, {}, options),
    limits: () => callApi(metrics.limits, {}, options),
    measure: ({ product_id, ...question }: Question, slugs: readonly Slug[]) => {
      const query = { ...question, ...(product_id !== "" && { product_id }), metrics: [...slugs] };
      return callApi(metrics.get, { query }, options);
    },
  };
}
