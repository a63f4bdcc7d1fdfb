/**
 * The door to Ink. Commands hand over plain data and get plain answers. It is bundled apart and loaded only to ask, so
 * it shares no class with the rest: an error thrown here would not be known there.
 */
import { type Instance, render } from "ink";
import { createElement, type ReactElement } from "react";
import type { Io } from "../io.ts";
import type { Board } from "../top/board.ts";
import { Dashboard } from "./Dashboard.tsx";
import { Form } from "./Form.tsx";
import { Frame, type Frames } from "./Frame.tsx";
import { runFullScreen } from "./full-screen.ts";
import type { Choice, Outcome, Question } from "./questions.ts";
import { Select } from "./Select.tsx";
import { Spinner } from "./Spinner.tsx";
import { type Moment, Timeline } from "./Timeline.tsx";

/** Put something on the terminal until it calls back, and take it away unless it `stays`; stdout is kept for data where stderr is a terminal too. */
async function show<T>(
  io: Io,
  make: (done: (outcome: Outcome<T>) => void) => ReactElement,
  { stays = false } = {},
): Promise<Outcome<T>> {
  const screen = io.stderr.isTTY ? io.stderr : io.stdout;
  let instance: Instance | undefined;
  let stop = (): void => undefined;
  try {
    return await new Promise<Outcome<T>>((resolve) => {
      stop = () => resolve("interrupted");
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
    if (!stays) instance?.clear();
    // Waited for from before the end: asked afterwards, Ink leaves a listener behind for each screen.
    const exited = instance?.waitUntilExit();
    instance?.unmount();
    await exited?.catch(() => undefined);
  }
}

/** Ask for several texts. */
export const promptForm = (io: Io, title: string, questions: Question[]): Promise<Outcome<Record<string, string>>> =>
  show(io, (done) => createElement(Form, { title, questions, done }), { stays: true });

/** Ask for one of several. */
export const promptChoice = (io: Io, title: string, choices: Choice[]): Promise<Outcome<string>> =>
  show(io, (done) => createElement(Select, { title, choices, done }));

/** Turn a wheel while something is waited for. */
export const runWithSpinner = <T>(io: Io, label: string, work: Promise<T>): Promise<Outcome<T>> =>
  show(io, (done) => {
    const stop = (): void => done("interrupted");
    work.then((value) => done({ value }), stop);
    return createElement(Spinner, { label, stop });
  });

/** Draw what happens while `work` goes on; answers what it ended with, an error included. */
export const drawTimeline = (
  io: Io,
  work: (add: (moments: Moment[], now: string) => void) => Promise<string>,
): Promise<Outcome<{ now: string } | { error: unknown }>> =>
  show(io, (done) => {
    const feed = (add: (moments: Moment[], now: string) => void) =>
      work(add).then(
        (now) => ({ value: { now } }),
        (error: unknown) => ({ value: { error } }),
      );
    return createElement(Timeline<Awaited<ReturnType<typeof feed>>>, { feed, done, stop: () => done("interrupted") });
  });

/** Draw lines anew as `work` hands them over, until it ends, or the person has seen enough. */
export const drawFrames = (
  io: Io,
  hint: string,
  work: (draw: (lines: string[]) => void, signal: AbortSignal) => Promise<void>,
): Promise<Outcome<{ error: unknown }>> => {
  const over = new AbortController();
  const ended = show<{ error: unknown }>(
    io,
    (done) => {
      const listFrames: Frames = (draw) => {
        work(draw, over.signal).then(
          () => done({ value: { error: undefined } }),
          (error: unknown) => done({ value: { error } }),
        );
      };
      return createElement(Frame, { frames: listFrames, hint, stop: done });
    },
    { stays: true },
  );
  return ended.finally(() => over.abort());
};

/** Draw a board on a screen of its own while `work` feeds it, until it is left. An error of `work` ends it. */
export async function drawBoard(
  io: Io,
  board: Board,
  work: (signal: AbortSignal) => Promise<void>,
): Promise<"left" | "interrupted" | { error: unknown }> {
  const over = new AbortController();
  let stop = (): void => undefined;
  let element: ReactElement | undefined;
  const end = new Promise<"left" | "interrupted" | { error: unknown }>((resolve) => {
    stop = () => resolve("interrupted");
    element = createElement(Dashboard, { board, done: resolve });
    work(over.signal).then(
      () => resolve("left"),
      (error: unknown) => resolve({ error }),
    );
  });
  io.signal.addEventListener("abort", stop, { once: true });
  try {
    return await runFullScreen(io, element as ReactElement, end);
  } finally {
    io.signal.removeEventListener("abort", stop);
    over.abort();
  }
}
