import { useEffect, useState } from "react";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import type { Failure, Grant, Result } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";
import { Dialog, Refused } from "./Part.tsx";
import { usePlace } from "./portal-context.ts";

const platforms = { discord: "Discord", github: "GitHub" } as const;
type Platform = keyof typeof platforms;

/** At which platform a benefit is given, if at one. */
export const getPlatform = ({ benefit }: { benefit: { type: string } }): Platform | undefined =>
  benefit.type === "discord" ? "discord" : benefit.type === "github_repository" ? "github" : undefined;

/** What has become of showing an account, as the address says it once; taken out of the address. */
function consumeReturn(): { connected: string | null; error: string | null } {
  const url = new URL(location.href);
  const [connected, error] = [url.searchParams.get("connected"), url.searchParams.get("error")];
  if (connected || error) {
    url.searchParams.delete("connected");
    url.searchParams.delete("error");
    history.replaceState(null, "", url);
  }
  return { connected, error };
}

/** Says what has become of it, to who has just come back. */
export function Returned() {
  const { account: messages } = usePortalMessages();
  const [back, setBack] = useState<ReturnType<typeof consumeReturn>>();
  useEffect(() => setBack((known) => known ?? consumeReturn()), []);
  const { connected, error } = back ?? {};
  if (connected && Object.hasOwn(platforms, connected))
    return <Notice tone="good">{messages.connected(platforms[connected as Platform])}</Notice>;
  if (!error) return null;
  const { failed } = messages;
  return (
    <Notice tone="fault">{Object.hasOwn(failed, error) ? failed[error as keyof typeof failed] : failed.other}</Notice>
  );
}

/** The account elsewhere that something is given to: shown by its customer, changed, taken away. */
export function Account({ grant, platform }: { grant: Grant; platform: Platform }) {
  const { account: messages, cancel_action } = usePortalMessages();
  const { portal, reload, isAside } = usePlace();
  const [busy, setBusy] = useState<"connect" | "use" | "remove">();
  const [removing, setRemoving] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const where = platforms[platform];
  const [, account] =
    Object.entries(grant.customer.oauth_accounts).find(([key]) => key.startsWith(`${platform}:`)) ?? [];
  const name = account?.account_username ?? account?.account_id ?? "";
  const connect = async (): Promise<void> => {
    setBusy("connect");
    const answer = await portal.connect(platform, location.pathname);
    if (answer.ok) location.assign(answer.value.url);
    else {
      setFailure(answer.failure);
      setBusy(undefined);
    }
  };
  const runAction = async (what: "use" | "remove", doing: Promise<Result<unknown>>): Promise<void> => {
    setBusy(what);
    const answer = await doing;
    setFailure(answer.ok ? undefined : answer.failure);
    if (answer.ok) await reload();
    setBusy(undefined);
    setRemoving(false);
  };
  const assignAccount = (account_id: string) =>
    portal.giveTo(grant.id, { benefit_type: grant.benefit.type, properties: { account_id } });
  const isRefused = grant.error !== null && account !== undefined && grant.properties.account_id !== undefined;
  return (
    <>
      {!account && <Notice>{messages.needed(where)}</Notice>}
      {isRefused && <Notice tone="fault">{messages.refused(where)}</Notice>}
      {account && !grant.is_granted && !grant.error && <Notice>{messages.waits(where)}</Notice>}
      {grant.is_granted && platform === "github" && <p className="soft small">{messages.invited}</p>}
      <Refused failure={failure} />
      {account && <p className="soft">{messages.known(where, name)}</p>}
      <div className="row">
        {account && grant.error && !isRefused && (
          <Button busy={busy === "use"} onClick={() => void runAction("use", assignAccount(account.account_id))}>
            {messages.use(name)}
          </Button>
        )}
        <Button
          quiet={isAside || (account !== undefined && !isRefused)}
          busy={busy === "connect"}
          onClick={() => void connect()}
        >
          {account ? messages.another : messages.connect(where)}
          {account && <span className="hidden"> ({where})</span>}
        </Button>
        {account && (
          <Button quiet aria-label={messages.remove_of(name, where)} onClick={() => setRemoving(true)}>
            {messages.remove}
          </Button>
        )}
      </div>
      {removing && (
        <Dialog title={messages.remove_title(name)} left={() => setRemoving(false)}>
          <p className="soft">{messages.remove_how(where)}</p>
          <div className="row">
            <Button quiet onClick={() => setRemoving(false)}>
              {cancel_action}
            </Button>
            <Button
              danger
              busy={busy === "remove"}
              onClick={() => void runAction("remove", portal.disconnect(platform))}
            >
              {messages.remove}
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}
