import { type BetterAuthOptions, betterAuth } from "better-auth";
import { drizzleAdapter } from "better-auth/adapters/drizzle";
import { eq } from "drizzle-orm";
import type { FastifyInstance } from "fastify";
import { encodeEmail } from "../../../shared/emails.ts";
import type { Deps } from "../../platform/context.ts";
import { hashToken } from "../../platform/crypto/secrets.ts";
import { createId } from "../../platform/ids.ts";
import { createLimiter } from "../../platform/limits/attempts.ts";
import { organization } from "../organizations/tables.ts";
import { createRefusedCalls, type RefusedCalls, recordRefusedCalls } from "./audit/refused-calls.ts";
import { createRefusedSignIns } from "./audit/refused-sign-ins.ts";
import { auditRoutes } from "./audit/routes.ts";
import { wrapAuditedStorage } from "./audit/storage.ts";
import { accountBase, findUnlisted } from "./calls.ts";
import { mapErrors } from "./http/error-mapping.ts";
import { createAuthLog, sendFailures } from "./http/failures.ts";
import { listOrigins, rejectForeignPages } from "./http/origins.ts";
import { rejectUntried } from "./http/tried-roles.ts";
import { readRaw, routeAuth } from "./http/wrapper.ts";
import { createIdentifier, type Identifier } from "./identity/identify.ts";
import { getCookiePrefix, isSecure } from "./identity/session-cookie.ts";
import { createRenewalPlugin, sendRenewed, sessionSeconds } from "./identity/sessions-renewal.ts";
import { addApiKeyRoutes } from "./keys/routes.ts";
import { limitAddresses } from "./limits/by-address.ts";
import { getPasswordKey } from "./limits/guessing.ts";
import {
  respondInConstantTime,
  writeChangeMail,
  writeDeletionMail,
  writeResetMail,
  writeVerificationMail,
} from "./mails.ts";
import { wrapOrganizationStorage } from "./organizations/storage.ts";
import { deletePerson } from "./people/deletion.ts";
import { addEndSessionsRoute } from "./people/end-sessions.ts";
import { describeUserFields, wrapUserFieldStorage } from "./people/fields.ts";
import { isHolder, signLink } from "./people/links.ts";
import { type AuthOptions, createPlugins } from "./plugins.ts";
import { createPasswordHashing } from "./sign-in/passwords.ts";
import { passwordLengthMax, passwordLengthMin } from "./sign-in/passwords-guard.ts";
import { wrapProtectedStorage } from "./storage.ts";
import {
  account,
  invitation,
  member,
  organizationRole,
  session,
  team,
  teamMember,
  user,
  verification,
} from "./tables.ts";
import { createAccountWork } from "./work.ts";

/** How long a browser's own copy of its session may be believed. */
const sessionCacheSeconds = 300;
/** The tables that better-auth works on. */
const schema = {
  user,
  session,
  account,
  verification,
  organization,
  member,
  invitation,
  team,
  teamMember,
  organizationRole,
};

/** A number for a secret that stays its own, wherever it stands in the list: encrypted values name it. */
const getVersion = (secret: string): number => Number.parseInt(hashToken(secret, "version").slice(0, 8), 16);

type SellerSignUp = { email: string; password: string; name: string; organizationName: string; slug: string };

export type Auth = Pick<Identifier, "credentialOf" | "whoIs" | "identify"> & {
  /** Register everything under /api/auth and /.well-known in a scope of its own. */
  routes(scope: FastifyInstance): Promise<void>;
  /** An account, its organization and a session token; run again for the same address it finds what is there. */
  signUpSeller(seller: SellerSignUp): Promise<{ user_id: string; organization_id: string; session: string }>;
  /** End a session that was made for nobody's use, such as that of a store made at the start. */
  endSession(token: string): Promise<void>;
  /** Calls for this process alone. Setting a first password is not to be had over HTTP. */
  api: {
    setPassword(given: { body: { newPassword: string }; headers: Headers }): Promise<{ status: boolean }>;
    getSession(given: { headers: Headers }): Promise<unknown>;
  };
  /** Counts calls that were refused, for the audit log. */
  refusedCalls: Pick<RefusedCalls, "add" | "addUnidentified">;
  /** Write down which keys were used, and who was refused; done by itself every few seconds. */
  flush(): Promise<void>;
  /** Write down what is still unwritten, and stop. */
  close(): Promise<void>;
};

export function createAuth(deps: Deps, options: AuthOptions): Auth {
  const { hasFinancialRecords } = options;
  const { config } = deps;
  const limits = createLimiter(deps);
  const work = createAccountWork(deps);
  const { here, mail } = work;
  const refused = createRefusedSignIns(deps);
  const refusedCalls = createRefusedCalls(deps);
  const createStorage = (options: BetterAuthOptions) =>
    wrapAuditedStorage(deps, work, (on) =>
      wrapProtectedStorage(
        wrapUserFieldStorage(config.FLOE_USER_FIELDS, options, (options) =>
          wrapOrganizationStorage(drizzleAdapter(on, { provider: "pg", schema })(options), on, deps.clock),
        ),
        config.secrets,
      ),
    );
  const auth = betterAuth({
    appName: "floe",
    baseURL: config.url,
    basePath: accountBase,
    // What was encrypted before secrets had versions opens with the oldest.
    secret: config.secrets.at(-1),
    secrets: config.secrets.map((value) => ({ version: getVersion(value), value })),
    trustedOrigins: listOrigins(config),
    logger: { level: "error", log: createAuthLog(deps.log) },
    telemetry: { enabled: false },
    database: createStorage,
    advanced: {
      database: { generateId: () => createId(deps.clock.now()) },
      // Its own way to name secure cookies is `__Secure-`, which other hosts of the domain can set.
      useSecureCookies: false,
      cookiePrefix: getCookiePrefix(config),
      defaultCookieAttributes: { secure: isSecure(config), path: "/" },
      // The wrapper writes this header from the connection; a caller cannot.
      ipAddress: { ipAddressHeaders: ["x-client-ip"] },
      // On in tests too: NODE_ENV=test would switch the check off.
      disableOriginCheck: false,
      disableCSRFCheck: false,
    },
    // What it does not expect reaches our handler, before its router prints it (failures.ts).
    onAPIError: { errorURL: `${config.url}/error`, throw: true },
    emailAndPassword: {
      enabled: config.FLOE_PASSWORD_SIGN_IN,
      disableSignUp: config.FLOE_SIGN_UP === "closed",
      autoSignIn: config.FLOE_AUTO_SIGN_IN,
      requireEmailVerification: config.FLOE_EMAIL_VERIFICATION === "required",
      minPasswordLength: passwordLengthMin,
      maxPasswordLength: passwordLengthMax,
      password: createPasswordHashing(here, deps.log, options.passwordRecipe),
      revokeSessionsOnPasswordReset: true,
      onPasswordReset: ({ user: { id } }) => limits.forgetAll(getPasswordKey(id)),
      ...(config.FLOE_PASSWORD_RESET
        ? {
            sendResetPassword: async ({ user: { id, email }, url }) => {
              if (await isHolder(here(), { id, email })) await mail(writeResetMail(email, url));
            },
          }
        : {}),
    },
    emailVerification: {
      // Written with the account (people/links.ts).
      sendOnSignUp: false,
      ...(config.FLOE_EMAIL_VERIFICATION === "off"
        ? {}
        : {
            sendVerificationEmail: async ({ user: { id, email }, url }) => {
              const link = await signLink(here(), config.secret, { id, email }, url);
              if (link) await mail(writeVerificationMail(email, link));
            },
          }),
    },
    user: {
      additionalFields: describeUserFields(config.FLOE_USER_FIELDS),
      changeEmail: {
        enabled: config.FLOE_CHANGE_EMAIL,
        updateEmailWithoutVerification: true,
        sendChangeEmailConfirmation: async ({ user: { id, email }, newEmail, url }) => {
          const link = await signLink(here(), config.secret, { id, email }, url, newEmail);
          if (link) await mail(writeChangeMail(email, newEmail, link));
        },
      },
      deleteUser: {
        enabled: config.FLOE_DELETE_USER,
        sendDeleteAccountVerification: async ({ user: { email }, url }) => mail(writeDeletionMail(email, url)),
        beforeDelete: ({ id }) => deletePerson(deps, hasFinancialRecords, id),
      },
    },
    verification: { storeIdentifier: "hashed" },
    account: {
      encryptOAuthTokens: true,
      accountLinking: {
        trustedProviders: config.FLOE_TRUSTED_PROVIDERS,
        allowDifferentEmails: config.FLOE_LINK_DIFFERENT_EMAILS,
      },
    },
    session: {
      expiresIn: sessionSeconds,
      // Ours counts every use (sessions-renewal.ts).
      disableSessionRefresh: true,
      // For programs of the same browser that read it; every call here reads the database all the same (requests.ts).
      cookieCache: { enabled: true, maxAge: sessionCacheSeconds },
    },
    // Ours hold across servers, and by account too (limits.ts).
    rateLimit: { enabled: false },
    plugins: [...createPlugins(deps, options, work), refused.plugin, createRenewalPlugin(deps)],
  });
  const unlisted = findUnlisted(Object.values(auth.api));
  // It would be neither limited nor guarded.
  if (unlisted.length > 0)
    throw new Error(`These calls have no row in server/identity/accounts/calls.ts: ${unlisted.join(", ")}.`);
  const identifier = createIdentifier(deps, options.identifyCustomer);

  return {
    credentialOf: identifier.credentialOf,
    whoIs: identifier.whoIs,
    identify: identifier.identify,
    api: { setPassword: mapErrors(auth.api.setPassword), getSession: mapErrors(auth.api.getSession) },
    refusedCalls,
    async flush() {
      await identifier.flush();
      await refused.flush();
      await refusedCalls.flush();
    },
    async close() {
      await identifier.stop();
      await refused.flush();
      await refusedCalls.close();
    },
    async routes(scope) {
      recordRefusedCalls(scope, refusedCalls, identifier.credentialOf);
      limitAddresses(scope, deps);
      rejectForeignPages(scope, config);
      readRaw(scope, deps);
      rejectUntried(scope);
      const identify = sendRenewed(scope, identifier.identify);
      addApiKeyRoutes(scope, deps, identify);
      auditRoutes(scope, deps, identify);
      options.addSealedAuditRoutes(scope, deps, identify);
      addEndSessionsRoute(scope, deps);
      routeAuth(scope, deps, respondInConstantTime(sendFailures(deps.log, work.answering(auth.handler))));
    },
    async endSession(token) {
      await auth.api.signOut({ headers: new Headers({ authorization: `Bearer ${token}` }) });
    },
    async signUpSeller({ password, name, organizationName, slug, ...given }) {
      const email = encodeEmail(given.email).toLowerCase();
      const [existing] = await deps.db.select({ id: user.id }).from(user).where(eq(user.email, email));
      const made = existing ? null : await auth.api.signUpEmail({ body: { email, password, name } });
      const user_id = existing?.id ?? made?.user.id ?? "";
      // Signing up may sign nobody in, and signing in may want a confirmed address; this process needs neither.
      const { internalAdapter } = await auth.$context;
      const token = made?.token ?? (await internalAdapter.createSession(user_id)).token;
      const [belongs] = await deps.db
        .select({ organization_id: member.organizationId })
        .from(member)
        .where(eq(member.userId, user_id));
      if (belongs) return { user_id, organization_id: belongs.organization_id, session: token };
      const { id } = await auth.api.createOrganization({ body: { name: organizationName, slug, userId: user_id } });
      return { user_id, organization_id: id, session: token };
    },
  };
}
