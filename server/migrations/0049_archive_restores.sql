CREATE TABLE "archive_restores" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"source_organization_id" text NOT NULL,
	"taken_at" timestamp with time zone NOT NULL,
	"signer" text NOT NULL,
	"archive_key" text,
	"header" text NOT NULL,
	"parts" integer NOT NULL,
	"next_part" integer DEFAULT 0 NOT NULL,
	"rows_total" bigint NOT NULL,
	"rows" bigint DEFAULT 0 NOT NULL,
	"files_left_out" integer NOT NULL,
	"finished_at" timestamp with time zone,
	"activated_at" timestamp with time zone,
	CONSTRAINT "archive_restores_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "organization" ADD COLUMN "held_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "archive_restores" ADD CONSTRAINT "archive_restores_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "archive_restores_of_organization" ON "archive_restores" USING btree ("organization_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "archive_restores_of_source" ON "archive_restores" USING btree ("source_organization_id");