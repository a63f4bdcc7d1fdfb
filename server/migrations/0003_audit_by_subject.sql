ALTER TABLE "apikey" ADD COLUMN "rateLimitStartedAt" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "audit_log_subject" ON "audit_log" USING btree ("subject_id","id");