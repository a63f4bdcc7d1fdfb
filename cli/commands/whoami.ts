/** `floe whoami`: who the server says that you are. */
import type { Command } from "commander";
import { type Context, listOrganizationsOfKey, type Organization } from "../context.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";

type Session = { user: { id: string; email: string; name: string }; session?: { expiresAt?: string } } | null;

const fields = [
  "server",
  "profile",
  "signed_in_by",
  "user.id",
  "user.email",
  "user.name",
  "organization.id",
  "organization.name",
  "organization.slug",
  "expires_at",
];

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("whoami")
    .description("Say who is signed in, at which server, and for which organization. Exit code 4 when signed out.");
  addExamples(command, "floe whoami", "floe whoami --json organization.slug");
  command.action(() => showIdentity(contextOf(command)));
}

async function showIdentity(context: Context): Promise<void> {
  const { server, profile, apiKey, job, organization } = context.settings();
  const asked = checkAskedFields(context.globals.json, ["user", "organization", ...fields]);
  if (apiKey ?? job) {
    const all = await listOrganizationsOfKey(context).catch((error: unknown): Organization[] => {
      // A key may be good for other things than to say whose it is; one that is no good at all is told above.
      if (error instanceof Fault && error.kind === "not_permitted") return [];
      throw error;
    });
    const { org } = context.settings();
    // A person's own key may be good for several, of which none is in use until one is named.
    const one = org === undefined && all.length === 1 ? all[0] : all.find(({ id, slug }) => org === id || org === slug);
    const found = one ? { id: one.id, name: one.name, slug: one.slug } : null;
    return showOne(
      context,
      { server, profile, signed_in_by: job ? "ci_job" : "api_key", user: null, organization: found, expires_at: null },
      asked,
    );
  }
  const session = (await context.call({
    method: "GET",
    path: "/api/auth/get-session",
    organization: false,
  })) as Session;
  if (!session?.user)
    throw new Fault("signed_out", "the sign-in is not accepted: it has expired or was revoked", {
      name: "signed_out",
      hint: "Run: `floe login`",
    });
  const { id, email, name } = session.user;
  const expires_at = session.session?.expiresAt ?? null;
  showOne(
    context,
    {
      server,
      profile,
      signed_in_by: "session",
      user: { id, email, name },
      organization: organization ?? null,
      expires_at,
    },
    asked,
  );
}
