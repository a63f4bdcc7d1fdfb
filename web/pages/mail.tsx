import { useCallback, useEffect, useState } from "react";
import { type Failure, requestApi } from "../api.ts";
import { PageLinks } from "../page-links.tsx";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell } from "../parts/Shell.tsx";
import "../development.css";

type Mail = { id: string; to: string; subject: string; text: string; html: string | null; created_at: string };

const links = [
  { href: "/demo", text: "Demo shop" },
  { href: "/mail", text: "Mail inbox" },
];

function Message({ mail }: { mail: Mail }) {
  return (
    <article className="card stack letter" aria-labelledby="subject">
      <div>
        <h2 id="subject">{mail.subject}</h2>
        <p className="soft small">
          To {mail.to}, <time dateTime={mail.created_at}>{new Date(mail.created_at).toLocaleString()}</time>
        </p>
      </div>
      {mail.html ? (
        // No scripts and no access to this page; links open beside it.
        <iframe
          title={`Message: ${mail.subject}`}
          sandbox="allow-popups allow-popups-to-escape-sandbox"
          srcDoc={`<base target="_blank">${mail.html}`}
        />
      ) : (
        <pre>{mail.text}</pre>
      )}
    </article>
  );
}

/** Every mail this server would have sent, while it is only being tried out. */
export default function MailPage() {
  const [mails, setMails] = useState<Mail[]>();
  const [failure, setFailure] = useState<Failure>();
  const [chosen, setChosen] = useState<string>();
  const [busy, setBusy] = useState(false);

  const load = useCallback(async (): Promise<void> => {
    setBusy(true);
    const answer = await requestApi<Mail[]>("GET", "/mail/messages.json");
    setBusy(false);
    if (answer.ok) {
      setMails(answer.value);
      setFailure(undefined);
    } else setFailure(answer.failure);
  }, []);
  useEffect(() => {
    void load();
    const refresh = (): void => void load();
    addEventListener("focus", refresh);
    return () => removeEventListener("focus", refresh);
  }, [load]);

  const shown = mails?.find(({ id }) => id === chosen) ?? mails?.[0];
  return (
    <Shell title="Mail inbox" wide aside={<PageLinks links={links} />}>
      <div className="stack">
        <div className="demo-head">
          <div>
            <h1>Mail inbox</h1>
            <p className="soft">What this server would have sent. Nothing leaves this machine.</p>
          </div>
          <Button quiet busy={busy} onClick={() => void load()}>
            Refresh
          </Button>
        </div>
        {failure && (
          <Notice tone="fault">
            {failure.status === 404
              ? "The inbox is only there on a local server with its own database."
              : failure.detail}
          </Notice>
        )}
        {mails?.length === 0 && (
          <Notice>No mail yet. Sign up, and the message that confirms your address comes here.</Notice>
        )}
        {shown && (
          <div className="inbox">
            <ul aria-label="Messages">
              {mails?.map(({ id, subject, to, created_at }) => (
                <li key={id}>
                  <button type="button" aria-pressed={id === shown.id} onClick={() => setChosen(id)}>
                    <strong>{subject}</strong>
                    <span className="soft small">
                      {to} · {new Date(created_at).toLocaleTimeString()}
                    </span>
                  </button>
                </li>
              ))}
            </ul>
            <Message key={shown.id} mail={shown} />
          </div>
        )}
      </div>
    </Shell>
  );
}
