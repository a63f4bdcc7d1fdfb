/** `floe advance`: let time pass in a sandbox, and see what happens. */

import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import type { Moment } from "../ui/Timeline.tsx";
import { removeControls } from "../ui/theme.ts";

type Options = { to?: string; by?: string };
type Entry = { at: string; type: string; id: string | null; text: string };
type Answer = { now: string; to: string | null; done: boolean; timeline: Entry[] };

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("advance")
    .description("Let time pass in a sandbox, and see what happens on the way")
    .option("--to <date>", "when to stop: 2027-04-15, or with a time")
    .option("--by <length>", "how far to go: 90minutes, 14days, 1month, 2years")
    .addHelpText(
      "after",
      "\nExamples:\n  floe advance --by 1month\n  floe advance --to 2027-04-15\n  floe advance --by 1year --json         # one JSON object per line",
    );
  command.action((options: Options) => advance(contextOf(command), options));
}

const day = /^\d{4}-\d{2}-\d{2}$/;
function getBody({ to, by }: Options): { to: string } | { by: string } {
  if ((to === undefined) === (by === undefined))
    throw new Fault("usage", "give --to or --by", { hint: "For example: `floe advance --by 1month`" });
  if (by !== undefined) return { by };
  const time = new Date(day.test(to ?? "") ? `${to}T00:00:00Z` : (to ?? ""));
  if (Number.isNaN(time.getTime()))
    throw new Fault("usage", `${to} is not a date`, { hint: "For example: `floe advance --to 2027-04-15`" });
  return { to: time.toISOString() };
}

const formatInstant = (at: string): string => `${at.slice(0, 10)} ${at.slice(11, 19)}`;
const tones: [RegExp, Moment["tone"]][] = [
  [/failed|past_due|revoked|expired/, "bad"],
  [/canceled|refund|dispute/, "warn"],
  [/paid|created|active|cycled|succeeded/, "good"],
];
const getTone = ({ type }: Entry): Moment["tone"] => tones.find(([words]) => words.test(type))?.[1] ?? "none";

/** Ask until it is there; each answer tells what happened since the last one. */
async function* walk(context: Context, body: object): AsyncGenerator<Answer> {
  for (let isDone = false; !isDone && !context.io.signal.aborted; ) {
    const answer = (await request(context, routes.sandbox.advance, { body })) as Answer;
    yield answer;
    isDone = answer.done;
  }
}

async function advance(context: Context, options: Options): Promise<void> {
  const body = getBody(options);
  if (context.json) {
    let now = "";
    for await (const answer of walk(context, body)) {
      for (const entry of answer.timeline) context.print(`${JSON.stringify(entry)}\n`);
      now = answer.now;
    }
    return context.print(`${JSON.stringify({ now, done: true })}\n`);
  }
  if (context.canDraw) {
    const ui = await import("../ui/index.ts");
    const outcome = await ui.drawTimeline(context.io, async (add) => {
      let [now, number] = ["", 0];
      for await (const answer of walk(context, body)) {
        const moments = answer.timeline.map((entry) => {
          number += 1;
          return {
            id: String(number),
            at: formatInstant(entry.at),
            text: removeControls(entry.text),
            tone: getTone(entry),
          };
        });
        add(
          moments,
          `${formatInstant(answer.now)} ${answer.to === null ? "" : `on the way to ${formatInstant(answer.to)}`}`,
        );
        now = answer.now;
      }
      return now;
    });
    if (outcome === "interrupted" || outcome === "left")
      throw new Fault("interrupted", "time stands where it was; the same command goes on");
    if ("error" in outcome.value) throw outcome.value.error;
    return context.say(`It is ${formatInstant(outcome.value.now)} UTC.\n`);
  }
  for await (const answer of walk(context, body)) {
    for (const entry of answer.timeline) context.print(`${formatInstant(entry.at)} │ ${removeControls(entry.text)}\n`);
    if (answer.done) context.say(`It is ${formatInstant(answer.now)} UTC.\n`);
  }
}
