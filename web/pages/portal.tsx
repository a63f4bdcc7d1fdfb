import { useCallback, useEffect, useMemo, useState } from "react";
import { computeAccent } from "../accent.ts";
import { isTestKey } from "../api.ts";
import { describeFailure } from "../checkout-form.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, useTitle } from "../parts/Shell.tsx";
import {
  deleteSession,
  entrance,
  type Failure,
  findSession,
  openPortal,
  type Seller,
  storeSession,
} from "../portal/calls.ts";
import { Home, type Visitor } from "../portal/Home.tsx";
import { PortalMessagesProvider, usePortalMessages } from "../portal/messages.tsx";
import { SignIn } from "../portal/SignIn.tsx";
import { given_seller } from "../server-data.ts";
import "../portal.css";

const secretParams = ["customer_session_token", "email", "link"];

/** The section that a link names beside its secrets; after connecting an account it is the benefits. */
function findSection(fragment: URLSearchParams, query: URLSearchParams): string {
  if (query.has("connected") || query.has("error")) return "benefits";
  return fragment.get("show") ?? "";
}

/**
 * Read the session that the address brings along, keep it for this tab, and remove it from the address, where it would be shown, kept
 * in the history and sent to others. It stands after `#` (this server's own links) or in the query (links of the API). The e-mail
 * address is for the sign-in; `link` is the token of a mail's link, which is exchanged for a session.
 */
function consumeSession(slug: string): { token: string | null; email: string; link: string | null } {
  const url = new URL(location.href);
  const fragment = new URLSearchParams(url.hash.slice(1));
  const get = (name: string): string | null => fragment.get(name) ?? url.searchParams.get(name);
  const given = get("customer_session_token");
  const email = get("email") ?? "";
  const link = fragment.get("link");
  if (given) storeSession(slug, given);
  if (["show", ...secretParams].some((name) => fragment.has(name))) url.hash = "";
  url.hash ||= findSection(fragment, url.searchParams);
  for (const name of secretParams) url.searchParams.delete(name);
  if (url.href !== location.href) history.replaceState(null, "", url);
  return { token: findSession(slug), email, link };
}

function Head({
  seller,
  email,
  signOut,
}: {
  seller: Seller;
  email: string | null | undefined;
  signOut: (() => void) | undefined;
}) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { name, branding, avatar_url } = seller.organization;
  const logo = branding.logo_url ?? avatar_url;
  return (
    <header>
      <p className="seller">
        {logo ? (
          <img src={logo} alt="" />
        ) : (
          <span className="initial" aria-hidden="true">
            {name.slice(0, 1).toUpperCase()}
          </span>
        )}
        <span className="seller-name">{name}</span>
        {isTestKey(seller.publishable_key) && (
          <span className="badge" title={common.test_mode}>
            {common.test}
          </span>
        )}
      </p>
      {signOut && (
        <div className="visitor">
          {email && <span className="soft small">{messages.signed_in_as(email)}</span>}
          <Button quiet onClick={signOut}>
            {messages.sign_out}
          </Button>
        </div>
      )}
    </header>
  );
}

const GhostCard = () => (
  <div className="card stack" aria-busy="true">
    <GhostLine width="50%" />
    <GhostLine width="80%" />
  </div>
);

/** The link of a mail opens the portal once, so a button uses it: programs that check mails load pages and press nothing. */
function OpenLink({
  token,
  seller: { organization },
  signedIn,
  refused,
}: {
  token: string;
  seller: Seller;
  signedIn: (token: string) => void;
  refused: () => void;
}) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const open = async (): Promise<void> => {
    setBusy(true);
    setFault(undefined);
    const answer = await entrance.openLink(token);
    if (answer.ok) return signedIn(answer.value.token);
    setBusy(false);
    // An unreachable server has used nothing up.
    if (answer.failure.status === 401) refused();
    else setFault(describeFailure(answer.failure, common));
  };
  return (
    <div className="card stack entrance">
      <h1>{messages.title(organization.name)}</h1>
      <p className="soft">{messages.link_once}</p>
      {fault && <Notice>{fault}</Notice>}
      <Button full busy={busy} onClick={() => void open()}>
        {messages.open_link}
      </Button>
    </div>
  );
}

function Inside({
  seller,
  slug,
  session,
  setLocale,
}: {
  seller: Seller;
  slug: string;
  session: ReturnType<typeof consumeSession>;
  setLocale: (locale: string) => void;
}) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const [token, setToken] = useState(session.token);
  const [isOver, setIsOver] = useState(false);
  const [link, setLink] = useState<"ready" | "refused" | null>(session.link === null ? null : "ready");
  const { name, branding } = seller.organization;
  const [email, setEmail] = useState<string | null>(null);
  useTitle(messages.title(name));

  const leave = useCallback((): void => {
    deleteSession(slug);
    setToken(null);
    setEmail(null);
  }, [slug]);
  const setVisitor = useCallback(
    (visitor: Visitor): void => {
      setEmail(visitor.email);
      if (visitor.locale) setLocale(visitor.locale);
    },
    [setLocale],
  );
  const ended = useCallback((): void => {
    leave();
    setIsOver(true);
  }, [leave]);
  const signIn = useCallback(
    (given: string): void => {
      storeSession(slug, given);
      setIsOver(false);
      setLink(null);
      setToken(given);
    },
    [slug],
  );
  const portal = useMemo(() => (token === null ? undefined : openPortal(token, ended)), [token, ended]);
  return (
    <div className="shell wide" style={computeAccent(branding.accent_color)}>
      <Head seller={seller} email={email} signOut={portal && leave} />
      <main>
        {link === "ready" && session.link !== null ? (
          <OpenLink token={session.link} seller={seller} signedIn={signIn} refused={() => setLink("refused")} />
        ) : portal ? (
          <>
            <h1 className="hidden">{messages.title(name)}</h1>
            <Home key={token} portal={portal} seller={seller} setVisitor={setVisitor} />
          </>
        ) : (
          <SignIn
            seller={seller}
            given={session.email}
            notice={link === "refused" ? messages.link_over : isOver ? messages.session_over : undefined}
            signedIn={signIn}
          />
        )}
      </main>
      <footer>
        <span>{common.powered}</span>
      </footer>
    </div>
  );
}

function Nowhere({ failure, retry }: { failure: Failure; retry: () => void }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const [title, text] =
    failure.status === 404 ? messages.unknown : [common.not_loaded, describeFailure(failure, common)];
  useTitle(title);
  return (
    <div className="shell">
      <main>
        <div className="card stack">
          <h1>{title}</h1>
          <p className="soft">{text}</p>
          {failure.status !== 404 && <Button onClick={retry}>{common.try_again}</Button>}
        </div>
      </main>
    </div>
  );
}

/** Whether what came with the document is of this page, and not of one that was open before. */
const isOf = (slug: string, seller: Seller | undefined): boolean =>
  seller?.organization.slug.toLowerCase() === slug.toLowerCase();

/** A customer's own place at one seller's: what they have, what they pay, and what they can change. */
export default function PortalPage({ params }: { params: Record<string, string> }) {
  const slug = params.slug ?? "";
  const [session] = useState(() => consumeSession(slug));
  const [seller, setSeller] = useState(() => (isOf(slug, given_seller) ? given_seller : undefined));
  const [failure, setFailure] = useState<Failure>();
  // The language and formats in which the customer bought, once they are known; until then the browser's.
  const [locale, setLocale] = useState<string | null>(null);
  const load = useCallback(async (): Promise<void> => {
    const answer = await entrance.seller(slug);
    if (answer.ok) setSeller(answer.value);
    setFailure(answer.ok ? undefined : answer.failure);
  }, [slug]);
  useEffect(() => {
    if (!isOf(slug, given_seller)) void load();
  }, [slug, load]);
  const ghost = (
    <div className="shell wide" aria-busy="true">
      <header>
        <GhostLine width="9rem" />
      </header>
      <main>
        <GhostCard />
      </main>
    </div>
  );
  return (
    <I18nProvider locale={locale} before={<Frame />}>
      <PortalMessagesProvider before={<Frame />}>
        {seller ? (
          <Inside key={slug} seller={seller} slug={slug} session={session} setLocale={setLocale} />
        ) : failure ? (
          <Nowhere failure={failure} retry={() => void load()} />
        ) : (
          ghost
        )}
      </PortalMessagesProvider>
    </I18nProvider>
  );
}
