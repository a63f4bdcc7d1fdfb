import type { Api } from "../../shared/api/index.ts";
import type { Output } from "../../shared/contract.ts";
import { type Failure, type Result, requestApi, type Wire } from "../api.ts";

export type Overview = Wire<Output<Api["overview"]["get"]>>;
export type { Failure };

const storageKey = "floe-organization";
export const timezone = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The organization that this browser showed last; the server chooses where it shows none. */
export function readOrganization(): string | undefined {
  try {
    return localStorage.getItem(storageKey) ?? undefined;
  } catch {
    // A browser may refuse storage: the choice then lasts as long as the page.
    return undefined;
  }
}

export function storeOrganization(id: string | undefined): void {
  try {
    if (id === undefined) localStorage.removeItem(storageKey);
    else localStorage.setItem(storageKey, id);
  } catch {
    // As above.
  }
}

export type Calls = ReturnType<typeof openCalls>;

/** The requests of the start page, for one organization. The cookie of the session identifies the seller. */
export function openCalls(organization_id: string | undefined) {
  const headers: Record<string, string> =
    organization_id === undefined ? {} : { "polar-organization": organization_id };
  const get = <T>(path: string): Promise<Result<T>> => requestApi<T>("GET", path, undefined, undefined, headers);
  return {
    overview: () => get<Overview>(`/v1/overview?${new URLSearchParams({ timezone })}`),
  };
}
