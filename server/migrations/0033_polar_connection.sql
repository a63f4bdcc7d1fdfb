CREATE TABLE "polar_connections" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"endpoint_id" text NOT NULL,
	"url" text NOT NULL,
	"secret" text NOT NULL,
	"connected_at" timestamp with time zone NOT NULL,
	"checked_at" timestamp with time zone NOT NULL,
	"fault" text,
	"due_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "polar_refusals" (
	"organization_id" text NOT NULL,
	"day" date NOT NULL,
	"reason" text NOT NULL,
	"count" bigint NOT NULL,
	"last_at" timestamp with time zone NOT NULL,
	CONSTRAINT "polar_refusals_pkey" PRIMARY KEY("organization_id","day","reason")
);
--> statement-breakpoint
CREATE TABLE "polar_syncs" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"finished_at" timestamp with time zone,
	"kinds" text[] NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	"stage" text DEFAULT 'list' NOT NULL,
	"page" integer DEFAULT 1 NOT NULL,
	"total" integer DEFAULT 0 NOT NULL,
	"returns" integer DEFAULT 0 NOT NULL,
	"after" text DEFAULT '' NOT NULL,
	"counts" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"step" integer DEFAULT 0 NOT NULL,
	"is_automatic" boolean NOT NULL
);
--> statement-breakpoint
ALTER TABLE "polar_objects" ADD COLUMN "synced_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "polar_connections" ADD CONSTRAINT "polar_connections_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "polar_refusals" ADD CONSTRAINT "polar_refusals_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "polar_syncs" ADD CONSTRAINT "polar_syncs_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;