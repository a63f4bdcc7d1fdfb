import { z } from "zod";
import { buildSellerAccess, ids, instant, page, paging, type Resource, seller } from "../contract.ts";
import { scopes } from "../scopes.ts";

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

const name = z
  .string()
  .regex(
    /^[a-z0-9][a-z0-9._-]{0,63}$/i,
    "Must begin with a letter or digit, and have these, dots, dashes and underscores.",
  );
const byName = z.object({ name });

/** A sandbox as it was. */
export const Snapshot = z.object({
  id: z.uuid(),
  /** By the sandbox's clock. */
  created_at: instant,
  /** By the server's clock. */
  saved_at: instant,
  name: z.string(),
  organization_id: z.string(),
  /** How many rows were saved. */
  rows: z.int(),
});
export type Snapshot = z.output<typeof Snapshot>;

const Totals = z.object({ currency: z.string(), before: z.int(), after: z.int() });
export const SnapshotDiff = z.object({
  from: z.string(),
  /** `now` where it is compared with the sandbox as it is. */
  to: z.string(),
  kinds: z.array(
    z.object({
      /** What they are, as `orders`. */
      kind: z.string(),
      added: z.int(),
      removed: z.int(),
      changed: z.int(),
      /** All that there is of this kind, before tax, in minor units. */
      totals: z.array(Totals),
      /** The first of those that differ. */
      items: z.array(
        z.object({
          id: z.string(),
          change: z.enum(["added", "removed", "changed"]),
          text: z.string(),
          /** What of it is another. */
          fields: z.array(z.string()),
        }),
      ),
    }),
  ),
});
export type SnapshotDiff = z.output<typeof SnapshotDiff>;

/** A comparison shows rows of every kind, and a restore writes them. */
const everyRead = scopes.filter((scope) => scope.endsWith(":read"));
const everyWrite = scopes.filter((scope) => scope.endsWith(":write"));

/** A store to try things out in: its time goes where it is told to, forwards by its clock and back by what was saved. */
export const sandbox = {
  getClock: {
    method: "GET",
    path: "/v1/sandbox/clock",
    summary: "Get the clock of a sandbox, and what happened last",
    access: seller("organizations:read"),
    response: SandboxClock,
  },
  advance: {
    method: "POST",
    path: "/v1/sandbox/clock",
    heavy: "finish",
    summary: "Move the clock of a sandbox forwards, and do what falls due on the way",
    access: seller("organizations:write"),
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
    // A mail has the code or link by which its customer signs in.
    access: buildSellerAccess("organizations:read", ["customers:read", "customer_sessions:write"]),
    query: z.object({ ...paging.shape, organization_id: ids.describe("Only of these organizations.") }),
    response: page(SandboxMail),
  },
  listSnapshots: {
    method: "GET",
    path: "/v1/sandbox/snapshots",
    summary: "List what was saved of a sandbox",
    access: seller("organizations:read"),
    query: z.object({ ...paging.shape, organization_id: ids.describe("Only of these organizations.") }),
    response: page(Snapshot),
  },
  saveSnapshot: {
    method: "POST",
    path: "/v1/sandbox/snapshots",
    heavy: "cancel",
    summary: "Save a sandbox as it is, every row of it",
    access: seller("organizations:write"),
    body: z.object({ name: name.describe("What it is called.") }),
    response: Snapshot,
    status: 201,
    errors: ["NotPermitted", "SandboxBusy", "ResourceAlreadyExists"],
    external: true,
    audit: "sandbox.saved",
  },
  restoreSnapshot: {
    method: "POST",
    path: "/v1/sandbox/snapshots/:name/restore",
    heavy: "cancel",
    summary: "Put a sandbox back to what was saved, its clock too",
    access: buildSellerAccess("organizations:write", everyWrite),
    params: byName,
    response: Snapshot,
    errors: ["NotPermitted", "ResourceNotFound", "SandboxBusy"],
    external: true,
    audit: "sandbox.restored",
    confirm: "Put the sandbox back? What happened in it since then is gone, unless you have saved it, too.",
  },
  deleteSnapshot: {
    method: "DELETE",
    path: "/v1/sandbox/snapshots/:name",
    heavy: "cancel",
    summary: "Forget what was saved of a sandbox",
    access: seller("organizations:write"),
    params: byName,
    status: 204,
    errors: ["ResourceNotFound"],
    audit: "sandbox.snapshot_deleted",
    confirm: "Forget what was saved? The sandbox stays as it is, and cannot be put back there any more.",
  },
  diffSnapshots: {
    method: "GET",
    path: "/v1/sandbox/snapshots/:name/diff",
    heavy: "cancel",
    summary: "Compare what was saved with something else that was, or with the present",
    access: buildSellerAccess("organizations:read", everyRead),
    params: byName,
    query: z.object({ to: name.default("now").describe("The name of the other; now for the sandbox as it is.") }),
    response: SnapshotDiff,
    errors: ["ResourceNotFound"],
  },
} as const satisfies Resource;
