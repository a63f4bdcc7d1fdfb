import type { Api } from "../shared/api/index.ts";
import type { Output } from "../shared/contract.ts";
import { requestApi, type Wire } from "./api.ts";

/** What a link from a mail leads to: what of a subscription is unpaid. */
export type CardLink = Wire<Output<Api["cardLinks"]["get"]>>;

const buildPath = (token: string): string => `/v1/card-links/${encodeURIComponent(token)}`;

/** Another card, by such a link. */
export const cardLinks = {
  get: (token: string) => requestApi<CardLink>("GET", buildPath(token)),
  confirm: (token: string, confirmation_token_id: string) =>
    requestApi<CardLink>("POST", `${buildPath(token)}/confirm`, { confirmation_token_id }),
};
