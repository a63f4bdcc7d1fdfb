import { Speaking, useSpeech } from "../i18n.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";

function DeadLink() {
  const [title, text] = useSpeech().words.dead_link;
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
    <Speaking locale={null} before={<Frame />}>
      <DeadLink />
    </Speaking>
  );
}
