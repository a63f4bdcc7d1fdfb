import type { Api } from "../shared/api/index.ts";
import type { Output } from "../shared/contract.ts";
import { cardLinks as routes } from "../shared/routes.ts";
import type { Wire } from "./api.ts";
import { callApi } from "./call-api.ts";

/** What a link from a mail leads to: what of a subscription is unpaid. */
export type CardLink = Wire<Output<Api["cardLinks"]["get"]>>;

/** Another card, by such a link. */
export const cardLinks = {
  get: (token: string) => callApi(routes.get, { params: { token } }),
  confirm: (token: string, confirmation_token_id: string) =>
    callApi(routes.confirm, { params: { token }, body: { confirmation_token_id } }),
};
