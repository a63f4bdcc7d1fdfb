CREATE TABLE "incoming_events" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"webhook_id" text NOT NULL,
	"type" text NOT NULL,
	"event_at" timestamp with time zone NOT NULL,
	"received_at" timestamp with time zone NOT NULL,
	"payload" text,
	"body_hash" text NOT NULL,
	"object_id" text,
	"state" text NOT NULL,
	"error" text,
	"secret_index" integer NOT NULL,
	"duplicates" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone,
	CONSTRAINT "incoming_events_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "polar_objects" (
	"organization_id" text NOT NULL,
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"data" jsonb NOT NULL,
	"modified_at" timestamp with time zone NOT NULL,
	"event_at" timestamp with time zone NOT NULL,
	"source" text NOT NULL,
	"via" text NOT NULL,
	"deleted_at" timestamp with time zone,
	"customer_id" text,
	"external_id" text,
	CONSTRAINT "polar_objects_pkey" PRIMARY KEY("organization_id","kind","id")
);
--> statement-breakpoint
ALTER TABLE "incoming_events" ADD CONSTRAINT "incoming_events_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "polar_objects" ADD CONSTRAINT "polar_objects_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "incoming_events_once" ON "incoming_events" USING btree ("organization_id","webhook_id");--> statement-breakpoint
CREATE INDEX "incoming_events_due" ON "incoming_events" USING btree ("organization_id","due_at") WHERE "incoming_events"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "incoming_events_age" ON "incoming_events" USING btree ("received_at");--> statement-breakpoint
CREATE INDEX "polar_objects_of_customer" ON "polar_objects" USING btree ("organization_id","customer_id","kind","event_at");--> statement-breakpoint
CREATE INDEX "polar_objects_external" ON "polar_objects" USING btree ("organization_id","kind","external_id");