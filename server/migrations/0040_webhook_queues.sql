UPDATE "webhook_events" e SET "skipped" = true, "next_attempt_at" = NULL FROM "webhook_endpoints" p
WHERE p."organization_id" = e."organization_id" AND p."id" = e."endpoint_id" AND e."next_attempt_at" IS NOT NULL
  AND (NOT p."enabled" OR p."deleted_at" IS NOT NULL);--> statement-breakpoint
UPDATE "webhook_events" SET "waits" = false WHERE "next_attempt_at" IS NOT NULL AND "waits";--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "due_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "lease" uuid;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD COLUMN "off_since" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "webhook_events" ADD COLUMN "object_id" text;--> statement-breakpoint
ALTER TABLE "webhook_events" ADD COLUMN "round" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "webhook_events" ADD COLUMN "requeued_at" timestamp with time zone;--> statement-breakpoint
UPDATE "webhook_endpoints" p SET "due_at" = p."created_at" WHERE EXISTS (SELECT FROM "webhook_events" e
WHERE e."organization_id" = p."organization_id" AND e."endpoint_id" = p."id" AND e."next_attempt_at" IS NOT NULL);--> statement-breakpoint
DROP INDEX "webhook_events_due";--> statement-breakpoint
DROP INDEX "webhook_events_queue";--> statement-breakpoint
CREATE INDEX "webhook_endpoints_due" ON "webhook_endpoints" USING btree ("organization_id","due_at") WHERE "webhook_endpoints"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_endpoints_off" ON "webhook_endpoints" USING btree ("organization_id","off_since") WHERE "webhook_endpoints"."off_since" is not null;--> statement-breakpoint
CREATE INDEX "webhook_events_held" ON "webhook_events" USING btree ("organization_id","endpoint_id","object_id","seq") WHERE "webhook_events"."next_attempt_at" is not null and ("webhook_events"."attempted_at" is not null or "webhook_events"."waits");--> statement-breakpoint
CREATE INDEX "webhook_events_repeated" ON "webhook_events" USING btree ("organization_id","endpoint_id","next_attempt_at") WHERE "webhook_events"."next_attempt_at" is not null and "webhook_events"."attempted_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_events_queue" ON "webhook_events" USING btree ("organization_id","endpoint_id","seq") WHERE "webhook_events"."next_attempt_at" is not null and "webhook_events"."attempted_at" is null and not "webhook_events"."waits";