CREATE TABLE "request_log" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"request_id" text NOT NULL,
	"operation" text NOT NULL,
	"method" text NOT NULL,
	"path" text NOT NULL,
	"status" integer NOT NULL,
	"error" text,
	"duration_ms" integer NOT NULL,
	"actor_kind" text NOT NULL,
	"user_id" text,
	"key_id" text,
	"body" jsonb,
	"skipped" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"written_at" timestamp with time zone NOT NULL,
	CONSTRAINT "request_log_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "events" ADD COLUMN "request_id" text;--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "seller_id" text;--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "request_id" text;--> statement-breakpoint
ALTER TABLE "request_log" ADD CONSTRAINT "request_log_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "request_log_list" ON "request_log" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "request_log_request" ON "request_log" USING btree ("organization_id","request_id");--> statement-breakpoint
CREATE INDEX "request_log_age" ON "request_log" USING btree ("written_at");--> statement-breakpoint
CREATE INDEX "events_of_request" ON "events" USING btree ("organization_id","request_id") WHERE "events"."request_id" is not null;--> statement-breakpoint
CREATE INDEX "mails_of_seller" ON "mails" USING btree ("seller_id","created_at") WHERE "mails"."seller_id" is not null;