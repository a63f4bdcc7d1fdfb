import { I18nProvider, useI18n } from "../i18n/i18n.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";

function DeadLink() {
  const [title, text] = useI18n().messages.dead_link;
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        <p className="soft">{text}</p>
      </div>
    </Shell>
  );
}

/** What a link of a seller leads to that nothing can be bought through; any other leads on to a checkout. */
export default function BuyPage() {
  return (
    <I18nProvider locale={null} before={<Frame />}>
      <DeadLink />
    </I18nProvider>
  );
}
