ALTER TABLE "webhook_endpoints" ADD COLUMN "failures" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "failing_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "process_id" uuid;--> statement-breakpoint
ALTER TABLE "server_processes" ADD COLUMN "has_session" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_endpoints_leased" ON "webhook_endpoints" USING btree ("process_id") WHERE "webhook_endpoints"."lease" is not null;