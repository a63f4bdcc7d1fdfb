ALTER TABLE "mails" ADD COLUMN "refusal" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "left_over" jsonb;--> statement-breakpoint
CREATE INDEX "mails_refused" ON "mails" USING btree ("created_at") WHERE "mails"."refusal" is not null;