/** Plays both sides of the device flow: the terminal, and the person in the browser. */
import { newAddress } from "./accounts.ts";
import type { Floe, Seller } from "./floe.ts";

export const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
export type Asked = { device_code: string; user_code: string; confirmation_number?: string };
/** Someone at a browser: a session, and the address it is used from. */
export type Browser = { token: string; address: string };
type Answer = { status: number; json: never; headers: Record<string, unknown> };

/** Needs a server that trusts its proxy at 127.0.0.1, so that everybody can have an address. */
export function devicesOf(floe: Floe) {
  const as = (address: string) => ({ origin: floe.url, "x-forwarded-for": address });
  const devices = {
    /** A new session of a person, at an address of its own. */
    async browser({ email, password }: Pick<Seller, "email" | "password">, address = newAddress()): Promise<Browser> {
      const signed = await floe.request("POST", "/api/auth/sign-in/email", {
        body: { email, password },
        headers: as(address),
      });
      if (signed.status !== 200) throw new Error(`No sign-in: ${signed.status} ${signed.text}`);
      return { token: (signed.json as { token: string }).token, address };
    },
    request: (method: string, path: string, { token, address }: Browser, body?: unknown): Promise<Answer> =>
      floe.request(method, `/api/auth${path}`, {
        token,
        headers: as(address),
        ...(body === undefined ? {} : { body }),
      }),
    async ask(
      more: Record<string, unknown> = {},
      { address = newAddress(), agent = "floe-cli/0.1.0 (Linux)" } = {},
    ): Promise<Asked> {
      const asked = await floe.request("POST", "/api/auth/device/code", {
        body: { client_id: "floe-cli", ...more },
        headers: { "x-forwarded-for": address, "user-agent": agent },
      });
      if (asked.status !== 200) throw new Error(`No code: ${asked.status} ${asked.text}`);
      return asked.json;
    },
    look: (who: Browser, user_code: string) => devices.request("GET", `/device?user_code=${user_code}`, who),
    approve: (who: Browser, userCode: string, confirmationNumber?: string | number) =>
      devices.request("POST", "/device/approve", who, { userCode, confirmationNumber }),
    deny: (who: Browser, userCode: string) => devices.request("POST", "/device/deny", who, { userCode }),
    poll: (device_code: string): Promise<Answer> =>
      floe.request("POST", "/api/auth/device/token", {
        body: { grant_type: deviceGrant, device_code, client_id: "floe-cli" },
        headers: { "x-forwarded-for": newAddress(), "user-agent": "floe-cli/0.1.0 (Linux)" },
      }),
    /** The whole way; answers the device's token. */
    async connect(who: Browser, more: Record<string, unknown> = {}): Promise<string> {
      const { device_code, user_code } = await devices.ask(more);
      await devices.look(who, user_code);
      await devices.approve(who, user_code);
      const { status, json } = await devices.poll(device_code);
      if (status !== 200) throw new Error(`No token: ${status} ${JSON.stringify(json)}`);
      return (json as { access_token: string }).access_token;
    },
  };
  return devices;
}
