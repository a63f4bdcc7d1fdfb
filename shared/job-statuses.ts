/** `dead`: a dead letter. `retrying`: failed, with a retry ahead. `discarded`: a dead letter that an operator gave up. */
export const jobStatuses = ["dead", "retrying", "discarded"] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const jobsPageMax = 100;
