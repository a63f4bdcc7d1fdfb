/** The door to Ink. Commands hand over plain data and get plain answers; nothing else imports it, and it is loaded only here. */
import { type Instance, render } from "ink";
import { createElement, type ReactElement } from "react";
import { Fault } from "../fault.ts";
import type { Io } from "../io.ts";
import { Form, type Question } from "./Form.tsx";
import { type Choice, Select } from "./Select.tsx";
import { Spinner } from "./Spinner.tsx";

/** Put something on the terminal until it calls back; stdout stays for data where stderr is a terminal too. */
async function show<T>(io: Io, make: (done: (value: T) => void) => ReactElement): Promise<T> {
  const screen = io.stderr.isTTY ? io.stderr : io.stdout;
  let instance: Instance | undefined;
  let stop = (): void => undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      stop = () =>
        reject(new Fault(io.signal.reason === "SIGTERM" ? "terminated" : "interrupted", "nothing was changed"));
      io.signal.addEventListener("abort", stop, { once: true });
      instance = render(make(resolve), {
        stdin: io.stdin as NodeJS.ReadStream,
        stdout: screen as NodeJS.WriteStream,
        stderr: io.stderr as NodeJS.WriteStream,
        exitOnCtrlC: false,
        patchConsole: false,
      });
    });
  } finally {
    io.signal.removeEventListener("abort", stop);
    instance?.unmount();
    await instance?.waitUntilExit().catch(() => undefined);
  }
}

const interrupted = (): Fault => new Fault("interrupted", "nothing was changed");

/** Ask for several texts; undefined when the person leaves with Escape. */
export async function askForm(
  io: Io,
  title: string,
  questions: Question[],
): Promise<Record<string, string> | undefined> {
  const answers = await show<Record<string, string> | "left" | "interrupted">(io, (done) =>
    createElement(Form, { title, questions, done }),
  );
  if (answers === "interrupted") throw interrupted();
  return answers === "left" ? undefined : answers;
}

/** Ask for one of several; undefined when the person leaves with Escape. */
export async function askChoice(io: Io, title: string, choices: Choice[]): Promise<string | undefined> {
  const answer = await show<{ value: string } | "left" | "interrupted">(io, (done) =>
    createElement(Select, { title, choices, done }),
  );
  if (answer === "interrupted") throw interrupted();
  return answer === "left" ? undefined : answer.value;
}

/** Turn a wheel while something is waited for. */
export async function spin<T>(io: Io, label: string, work: () => Promise<T>): Promise<T> {
  const result = await show<{ value: T } | { error: unknown }>(io, (done) => {
    work().then(
      (value) => done({ value }),
      (error: unknown) => done({ error }),
    );
    return createElement(Spinner, { label, stop: () => done({ error: interrupted() }) });
  });
  if ("error" in result) throw result.error;
  return result.value;
}
