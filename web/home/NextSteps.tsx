import { Button } from "../parts/Button.tsx";
import { Command } from "./Command.tsx";
import { useHomeMessages } from "./messages.tsx";

type Step = { title: string; text: string; commands: string[]; isDone: boolean };

/** What a new seller does next. Steps that are done are named, and no longer explained. */
export function NextSteps({
  hasStore,
  hasProducts,
  hasLinks,
}: {
  hasStore: boolean;
  hasProducts: boolean;
  hasLinks: boolean;
}) {
  const messages = useHomeMessages();
  const server = `--server ${location.origin}`;
  const steps: Step[] = [
    { ...messages.steps.install, commands: ["npm install && npm run build && npm link"], isDone: hasProducts },
    { ...messages.steps.login, commands: [`floe login ${server}`], isDone: hasProducts },
    { ...messages.steps.store, commands: ['floe orgs create "My store"'], isDone: hasStore },
    {
      ...messages.steps.product,
      commands: ['floe products create --name "E-book" --price 19.00'],
      isDone: hasProducts,
    },
    { ...messages.steps.link, commands: ['floe checkout-links create --products "E-book"'], isDone: hasLinks },
  ];
  return (
    <ol className="steps">
      {steps.map(({ title, text, commands, isDone }) => (
        <li key={title} className={isDone ? "done" : undefined}>
          <h3>
            {title} {isDone && <span className="state good">{messages.done}</span>}
          </h3>
          {!isDone && (
            <>
              <p className="soft">{text}</p>
              {commands.map((command) => (
                <Command key={command} text={command} />
              ))}
            </>
          )}
        </li>
      ))}
    </ol>
  );
}

/** A person who belongs to no organization yet. */
export function NoStore() {
  const messages = useHomeMessages();
  return (
    <div className="card stack">
      <h1>{messages.welcome}</h1>
      <p>{messages.no_store}</p>
      <NextSteps hasStore={false} hasProducts={false} hasLinks={false} />
      <div>
        <Button onClick={() => location.reload()}>{messages.reload}</Button>
      </div>
    </div>
  );
}
