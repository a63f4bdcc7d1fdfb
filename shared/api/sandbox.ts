import { z } from "zod";
import { ids, instant, page, paging, type Resource } from "../contract.ts";

/** How far time is moved: `90minutes`, `14days`, `1month`. */
export const Distance = z
  .string()
  .regex(
    /^[1-9]\d{0,4} ?(minute|hour|day|week|month|year)s?$/,
    "Must be a length of time, as 14days, 1month or 2years.",
  );

/** One thing that happened on the way. */
export const TimelineEntry = z.object({
  at: instant,
  /** The type of an event (`order.paid`), `mail.kept` or `work.failed`. */
  type: z.string(),
  /** What it happened to. */
  id: z.string().nullable(),
  text: z.string(),
});
export type TimelineEntry = z.output<typeof TimelineEntry>;

export const SandboxClock = z.object({
  now: instant,
  /** Where it is on the way to. */
  to: instant.nullable(),
  /** Whether it is there; otherwise the same request goes on. */
  done: z.boolean(),
  timeline: z.array(TimelineEntry),
});
export type SandboxClock = z.output<typeof SandboxClock>;

export const SandboxMail = z.object({
  id: z.uuid(),
  created_at: instant,
  to: z.string(),
  subject: z.string(),
  text: z.string(),
  html: z.string(),
});

/** A store to try things out in: its time goes where it is told to, forwards by its clock and back by what was saved. */
export const sandbox = {
  getClock: {
    method: "GET",
    path: "/v1/sandbox/clock",
    summary: "Get the clock of a sandbox, and what happened last",
    scopes: ["organizations:read"],
    response: SandboxClock,
  },
  advance: {
    method: "POST",
    path: "/v1/sandbox/clock",
    summary: "Move the clock of a sandbox forwards, and do what falls due on the way",
    scopes: ["organizations:write"],
    body: z
      .object({
        to: instant.optional().describe("When to stop."),
        by: Distance.optional().describe("How far to go, as 1month. While it is on the way, it goes on."),
      })
      .refine(({ to, by }) => to === undefined || by === undefined, "Give to or by, not both."),
    response: SandboxClock,
    errors: ["NotPermitted", "SandboxBusy"],
    external: true,
    audit: "sandbox.advanced",
  },
  listMails: {
    method: "GET",
    path: "/v1/sandbox/mails",
    summary: "List the mails that a sandbox has kept",
    scopes: ["organizations:read"],
    query: z.object({ ...paging.shape, organization_id: ids.describe("Only of these organizations.") }),
    response: page(SandboxMail),
  },
} as const satisfies Resource;
