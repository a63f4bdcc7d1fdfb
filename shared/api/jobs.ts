import { z } from "zod";
import { type JobStatus, jobStatuses, jobsPageMax } from "../job-statuses.ts";

/** A failed job as `GET /v1/jobs` shows it. `id` is the worker's name, a colon, and the id of the row. */
export type Job = {
  id: string;
  kind: string;
  row_id: string;
  organization_id: string | null;
  status: JobStatus;
  attempts: number;
  error: string;
  first_failed_at: Date;
  retry_at: Date | null;
  discarded_at: Date | null;
};

/** The id of a failed job: `subscriptions.renew:0192…`. */
export const JobId = z
  .string()
  .max(300)
  .regex(/^[^:]+:.+$/s, "A job is named by its worker and its row, as in subscriptions.advance:0192…");

export const JobsQuery = z.strictObject({
  status: z.enum(jobStatuses).default("dead"),
  kind: z.string().min(1).max(100).optional(),
  after: JobId.optional(),
  limit: z.coerce.number().int().min(1).max(jobsPageMax).default(50),
});
