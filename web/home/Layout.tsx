import { type ReactNode, useEffect, useMemo } from "react";
import { Link } from "../account/Link.tsx";
import { useStore } from "../account/use-store.ts";
import { type Organization, organizations } from "../auth-client.ts";
import { describeFailure } from "../checkout-form.ts";
import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { language } from "../i18n/language.ts";
import { Button } from "../parts/Button.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import { type Calls, openCalls } from "./calls.ts";
import { HomeContext } from "./home-context.ts";
import { HomeMessagesProvider, useHomeMessages } from "./messages.tsx";
import { NoStore } from "./NextSteps.tsx";
import { Search } from "./Search.tsx";
import { type OverviewState, useOverview } from "./use-overview.ts";
import "../home.css";

type Header = {
  calls: Calls;
  list: readonly Organization[];
  current: string | undefined;
  choose: OverviewState["choose"];
};

/** Where a seller goes from here, and which of their organizations is shown. */
function Navigation({ calls, list, current, choose }: Header) {
  const messages = useHomeMessages();
  const pages = [
    { href: "/", text: messages.home },
    { href: "/store/products", text: messages.products },
    { href: "/metrics", text: messages.metrics },
    { href: "/account", text: messages.account },
  ];
  return (
    <div className="home-header">
      {list.length > 1 && current !== undefined && (
        <span className="control select">
          <select aria-label={messages.organization} value={current} onChange={({ target }) => choose(target.value)}>
            {list.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </span>
      )}
      {current !== undefined && <Search calls={calls} />}
      <nav aria-label={messages.pages}>
        {pages.map(({ href, text }) => (
          <Link key={href} href={href} aria-current={location.pathname === href ? "page" : undefined}>
            {text}
          </Link>
        ))}
      </nav>
    </div>
  );
}

/** What stands where the overview will be: as high as what follows, so that nothing moves. */
function Ghosts() {
  return (
    <div className="stack" aria-busy="true">
      <GhostLine width="12rem" height="2rem" />
      <div className="home-figures">
        {["today", "month", "mrr"].map((key) => (
          <div key={key} className="card">
            <GhostLine width="6rem" />
            <GhostLine width="9rem" height="2.25rem" />
          </div>
        ))}
      </div>
      <div className="card">
        <GhostLine width="100%" height="16rem" />
      </div>
    </div>
  );
}

function Page({ title, children }: Props) {
  const messages = useHomeMessages();
  const { messages: common } = useI18n();
  const { overview, failure, reload, choose } = useOverview();
  const shownId = overview?.organization_id;
  // Whatever changes something names the organization, which the server chose where the seller did not.
  const calls = useMemo(() => openCalls(shownId), [shownId]);
  const { value: list } = useStore(organizations);
  const status = failure?.status;
  useEffect(() => {
    if (status === 401) location.replace(`/sign-in?next=${encodeURIComponent(location.pathname)}`);
    // The organization is another person's now, or none was named: the first of their own is shown.
    if ((status === 404 || status === 422) && list?.[0]) choose(list[0].id);
  }, [status, list, choose]);
  const isNew = list?.length === 0;
  const isRefused = failure !== undefined && ![401, 404, 422].includes(failure.status);
  return (
    <Shell
      wide
      title={overview && !isNew ? `${title ?? overview.name}` : messages.home}
      aside={<Navigation calls={calls} list={list ?? []} current={overview?.organization_id} choose={choose} />}
    >
      {isNew ? (
        <NoStore />
      ) : (
        <div className="stack">
          {isRefused && (
            <Notice tone="fault">
              <p>{describeFailure(failure, common)}</p>
              <Button onClick={() => void reload()}>{common.try_again}</Button>
            </Notice>
          )}
          {overview ? (
            <HomeContext value={{ overview, calls, reload }}>{children}</HomeContext>
          ) : (
            !isRefused && <Ghosts />
          )}
        </div>
      )}
    </Shell>
  );
}

type Props = { title?: string | undefined; children: ReactNode };

/** The page around every part of the start page: messages, navigation, and the overview of the organization. */
export function HomePage({ title, children }: Props) {
  return (
    <I18nProvider locale={language} before={<Frame />}>
      <HomeMessagesProvider before={<Frame />}>
        <Page title={title}>{children}</Page>
      </HomeMessagesProvider>
    </I18nProvider>
  );
}
