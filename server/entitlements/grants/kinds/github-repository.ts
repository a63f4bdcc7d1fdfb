import { z } from "zod";
import type { Benefit } from "../../../../shared/api/benefits.ts";
import type { BenefitRow } from "../../../catalog/benefits/rules.ts";
import { getServerClock } from "../../../platform/clock.ts";
import type { Deps } from "../../../platform/context.ts";
import {
  callExternal,
  ExternalBusyError,
  type ExternalCall,
  ExternalRefusedError,
} from "../../../platform/external/external-provider.ts";
import { findMissingAppSetting, getGitHubHeaders, signAppToken } from "../../../platform/external/github.ts";
import type { AccessRow } from "../accesses.ts";
import type { ExternalProvider } from "./external.ts";

const getTerms = (properties: BenefitRow["properties"]) =>
  properties as Extract<Benefit, { type: "github_repository" }>["properties"];
const encodePart = (text: string | number): string => encodeURIComponent(text);

const Installation = z.object({ id: z.int() });
const Token = z.object({ token: z.string().min(1).max(2000), expires_at: z.string() });
const Person = z.object({ login: z.string().regex(/^[A-Za-z0-9-]{1,100}$/) });
const Invitations = z.array(z.object({ id: z.int(), invitee: z.object({ id: z.int() }).nullish() }));
const pageSize = 100;
/** Nobody has invited more: what is beyond that is not looked for. */
const pagesMax = 50;

/** What GitHub means by a status, for whoever sells. */
const meanings: Readonly<Record<number, string>> = {
  301: "the repository was renamed or moved. Name it anew in the benefit",
  401: "GitHub does not know the app. Who runs this server has to set GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY anew",
  403: "the app may not let anybody in. Give it the permission to administer the repository",
  404: "there is no such repository for the app",
  422: "GitHub does not invite this account, or nobody else: look at the repository's seats and limits",
};

function explain(error: unknown): never {
  if (!(error instanceof ExternalRefusedError) || error.status === 0) throw error;
  const meaning = meanings[error.status];
  const said = meaning === undefined ? error.message : `${meaning} (${error.message})`;
  throw new ExternalRefusedError(`GitHub error: ${said}.`, error.status);
}

/** What an answer says, where it is of the shape that GitHub documents. */
function read<T>(shape: z.ZodType<T>, json: unknown): T {
  const { success, data } = shape.safeParse(json);
  if (!success) throw new ExternalBusyError("GitHub gave an answer that nobody understands.");
  return data;
}

/** What says that it was done. */
const done = { GET: [200], POST: [201], PUT: [201, 204], DELETE: [204] };

/** What opens installations still, in this process alone: by server, app and repository. */
const opened = new Map<string, { token: string; until: number }>();
const openedMax = 1000;
/** So long before its end a token is made anew. */
const marginMs = 5 * 60 * 1000;

type Ask = (method: ExternalCall["method"], path: string, body?: object) => Promise<{ status: number; json: unknown }>;

/** How the app asks about a repository, by a token of its installation there; its own paths begin with `repository`. */
async function openRepository({ config, clock }: Deps, place: string): Promise<{ ask: Ask; repository: string }> {
  const missing = findMissingAppSetting(config);
  if (missing) throw new ExternalRefusedError(`GitHub is not set up on this server: ${missing} is missing.`, 0);
  const [owner = "", name = ""] = place.split("/");
  const now = getServerClock(clock).now();
  const repository = `/repos/${encodePart(owner)}/${encodePart(name)}`;
  const requestAs =
    (token: string): Ask =>
    (method, path, body) =>
      callExternal({
        name: "GitHub",
        counted: `${config.GITHUB_API_URL} ${owner}`,
        url: config.GITHUB_API_URL + path,
        method,
        headers: getGitHubHeaders(token),
        done: done[method],
        ...(body ? { body } : {}),
        now,
      });
  const key = `${config.GITHUB_API_URL} ${config.GITHUB_APP_ID} ${place}`;
  const open = async (): Promise<string> => {
    const asApp = requestAs(signAppToken(config, now));
    const found = await asApp("GET", `${repository}/installation`).catch((error: unknown) => {
      if (error instanceof ExternalRefusedError && error.status === 404)
        throw new ExternalRefusedError(`The app is not installed on ${place} any more. Install it there again.`, 0);
      throw error;
    });
    const { id } = read(Installation, found.json);
    const { token, expires_at } = read(Token, (await asApp("POST", `/app/installations/${id}/access_tokens`)).json);
    const until = Date.parse(expires_at) - marginMs;
    if (opened.size >= openedMax) opened.clear();
    if (until > now.getTime()) opened.set(key, { token, until });
    return token;
  };
  const known = opened.get(key);
  if (known === undefined || known.until <= now.getTime()) return { ask: requestAs(await open()), repository };
  const sendRequest: Ask = (...call) =>
    requestAs(opened.get(key)?.token ?? known.token)(...call).catch(async (error: unknown) => {
      // It was taken back before its time, as where the app was removed.
      if (!(error instanceof ExternalRefusedError) || error.status !== 401) throw error;
      opened.delete(key);
      return requestAs(await open())(...call);
    });
  return { ask: sendRequest, repository };
}

/** What an account is called now; undefined where there is no such account any more. */
async function findLogin(ask: Ask, account_number: string): Promise<string | undefined> {
  // By its number: names are given up and taken by others.
  const found = await ask("GET", `/user/${encodePart(account_number)}`).catch((error: unknown) => {
    if (error instanceof ExternalRefusedError && error.status === 404) return undefined;
    throw error;
  });
  return found && read(Person, found.json).login;
}

/** Take back an invitation that was not accepted yet; answers whether there was one. */
async function withdrawInvitation(ask: Ask, repository: string, account_number: string): Promise<boolean> {
  for (let page = 1; page <= pagesMax; page += 1) {
    const { json } = await ask("GET", `${repository}/invitations?per_page=${pageSize}&page=${page}`);
    const invitations = read(Invitations, json);
    const own = invitations.find(({ invitee }) => String(invitee?.id) === account_number);
    if (own) {
      await ask("DELETE", `${repository}/invitations/${own.id}`).catch(ignoreGone);
      return true;
    }
    if (invitations.length < pageSize) break;
  }
  return false;
}
/** What is gone needs no taking back. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof ExternalRefusedError) || error.status !== 404) throw error;
}

async function addCollaborator(deps: Deps, { place, account_number, asked }: AccessRow, form: string): Promise<void> {
  const { ask, repository } = await openRepository(deps, place);
  const login = await findLogin(ask, account_number);
  if (login === undefined)
    throw new ExternalRefusedError(
      "The customer's GitHub account is not there any more. They need to connect another",
      0,
    );
  // An invitation says what it is to, and goes on saying so.
  if (asked !== null && asked !== form) await withdrawInvitation(ask, repository, account_number);
  // 201: they are invited; 204: they are in, with this permission from now on.
  await ask("PUT", `${repository}/collaborators/${encodePart(login)}`, { permission: form });
}

async function removeCollaborator(deps: Deps, { place, account_number }: AccessRow): Promise<void> {
  const { ask, repository } = await openRepository(deps, place);
  if (await withdrawInvitation(ask, repository, account_number)) return;
  const login = await findLogin(ask, account_number);
  if (login !== undefined) await ask("DELETE", `${repository}/collaborators/${encodePart(login)}`).catch(ignoreGone);
}

/** Access to a repository (BEN-71 to BEN-74). */
export const gitHubRepository: ExternalProvider = {
  platform: "github",
  type: "github_repository",
  // GitHub takes no heed of the size of letters.
  placeOf(properties) {
    const { repository_owner, repository_name } = getTerms(properties);
    return `${repository_owner}/${repository_name}`.toLowerCase();
  },
  wholeOf: (place) => place,
  formOf: (properties) => getTerms(properties).permission,
  forms: ["pull", "triage", "push", "maintain", "admin"],
  kicks: () => false,
  properties({ properties }, account_id) {
    const { repository_owner, repository_name, permission } = getTerms(properties);
    return { account_id, repository_owner, repository_name, permission, granted_account_id: account_id };
  },
  give: (deps, access, form) => addCollaborator(deps, access, form).catch(explain),
  take: (deps, access) => removeCollaborator(deps, access).catch(explain),
};
