CREATE TABLE "webhook_replays" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"endpoint_id" uuid NOT NULL,
	"since" timestamp with time zone NOT NULL,
	"types" jsonb,
	"failed_only" boolean NOT NULL,
	"total" integer NOT NULL,
	"requeued" integer DEFAULT 0 NOT NULL,
	"last_seq" bigint NOT NULL,
	"until_seq" bigint NOT NULL,
	"due_at" timestamp with time zone,
	"stopped_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	CONSTRAINT "webhook_replays_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "webhook_replays" ADD CONSTRAINT "webhook_replays_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_replays" ADD CONSTRAINT "webhook_replays_endpoint_id_fkey" FOREIGN KEY ("organization_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "webhook_replays_due" ON "webhook_replays" USING btree ("organization_id","due_at") WHERE "webhook_replays"."due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "webhook_replays_open" ON "webhook_replays" USING btree ("organization_id","endpoint_id") WHERE "webhook_replays"."finished_at" is null;