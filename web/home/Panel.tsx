import { type ReactNode, useId } from "react";
import { Command } from "./Command.tsx";

type Props = {
  title: string;
  /** The command that shows the same. */
  command?: string;
  aside?: ReactNode;
  children: ReactNode;
};

/** One subject of the start page, with its command. */
export function Panel({ title, command, aside, children }: Props) {
  const id = useId();
  return (
    <section className="card panel" aria-labelledby={id}>
      <div className="panel-head">
        <h2 id={id}>{title}</h2>
        {aside}
      </div>
      {children}
      {command !== undefined && <Command text={command} />}
    </section>
  );
}
