/** `floe logout`: end the session on the server, and forget it here. */
import type { Command } from "commander";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { client_id } from "../oauth-client.ts";
import { readKept } from "../settings.ts";

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root.command("logout").description("Sign out at the server of this profile and forget the sign-in.");
  addExamples(command, "floe logout");
  command.action(() => logout(contextOf(command)));
}

/** End the session that signing in gave to the command line (RFC 7009). */
const revoke = (context: Context, token: string): Promise<unknown> =>
  context.call({
    method: "POST",
    path: "/api/auth/device/token/revoke",
    body: { token, client_id },
    organization: false,
    token,
  });

async function logout(context: Context): Promise<void> {
  const { profile, server } = context.settings();
  const credential = readKept(context.io.env, profile, server);
  if (!credential) return context.say(`You were not signed in at ${server}.\n`);
  const { getKeychainPlace, loadToken, removeFromKeychain } = await import("../accounts/keychain.ts");
  let left = "";
  try {
    // A key was made elsewhere, and is revoked there.
    if (credential.is_key) left = " The key itself stays good: `floe api-keys revoke` ends it.";
    else await revoke(context, await loadToken(context, credential.token));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // Expired is as good as ended; otherwise the token may live on, which its owner should know.
    if (error.kind !== "signed_out")
      left = ` The server could not be told (${error.message}); the session ends there when it expires.`;
  }
  const { writeCredential } = await import("../settings-write.ts");
  await writeCredential(context.io.env, profile, server, undefined);
  await removeFromKeychain(getKeychainPlace(context), credential.token);
  (await import("../completion/cache.ts")).clearNames(context.io.env);
  context.say(`Signed out at ${server}.${left}\n`);
}
