import { type ReactNode, useState } from "react";
import { I18nProvider } from "../i18n/i18n.tsx";
import { Frame, useTitle } from "../parts/Shell.tsx";
import { PortalMessagesProvider } from "./messages.tsx";
import "../portal.css";

/** The secret that a link of a mail brings along, taken out of the address, where it would be shown and sent to others. */
function consumeToken(): string {
  const url = new URL(location.href);
  const token = url.searchParams.get("token") ?? "";
  url.searchParams.delete("token");
  history.replaceState(history.state, "", url);
  return token;
}

/** What somebody finds who comes by a link of a mail: a title, a sentence, and what can be done. */
export function Arrival({
  said: [title, text],
  children,
}: {
  said: readonly [string, string | undefined];
  children?: ReactNode;
}) {
  useTitle(title);
  return (
    <div className="shell">
      <main>
        <div className="card stack">
          <h1>{title}</h1>
          {text && <p className="soft">{text}</p>}
          {children}
        </div>
      </main>
    </div>
  );
}

/** The page around it, in the reader's language. */
export function ArrivalPage({ children }: { children: (token: string) => ReactNode }) {
  const [token] = useState(consumeToken);
  return (
    <I18nProvider locale={null} before={<Frame />}>
      <PortalMessagesProvider before={<Frame />}>{children(token)}</PortalMessagesProvider>
    </I18nProvider>
  );
}
