import { requestApi } from "../api.ts";

export type DeviceRequest = {
  user_code: string;
  status: string;
  client_id: string | null;
  client_name: string | null;
  scope: string | null;
  ip_address: string | null;
  /** As seen from this browser. */
  place: "this_computer" | "same_address" | "same_network" | "another_address" | "unknown";
  agent: string;
  requested_at: string;
  expires_in: number;
  confirmation_required: boolean;
};

/** The approval of a device that asks to be signed in. */
export const devices = {
  find: (user_code: string) =>
    requestApi<DeviceRequest>("GET", `/api/auth/device?user_code=${encodeURIComponent(user_code)}`),
  approve: (userCode: string, confirmationNumber?: string) =>
    requestApi<unknown>("POST", "/api/auth/device/approve", { userCode, confirmationNumber }),
  deny: (userCode: string) => requestApi<unknown>("POST", "/api/auth/device/deny", { userCode }),
};
