CREATE TABLE "book_checks" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"xid" bigint NOT NULL,
	"seq" bigint NOT NULL,
	"rests_until" timestamp with time zone,
	"lease" uuid,
	"held" jsonb,
	"accepted" jsonb DEFAULT '[]'::jsonb NOT NULL
);
--> statement-breakpoint
ALTER TABLE "organization" ADD COLUMN "money_held_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "organization" ADD COLUMN "money_held_reason" text;--> statement-breakpoint
ALTER TABLE "book_checks" ADD CONSTRAINT "book_checks_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "organization_with_held_money" ON "organization" USING btree ("id") WHERE "organization"."money_held_at" is not null;--> statement-breakpoint
-- What was sold before is checked by `floe verify`: each seller's checks begin with what changes from now on.
INSERT INTO "book_checks" ("organization_id", "xid", "seq")
SELECT "id", pg_snapshot_xmin(pg_current_snapshot())::text::bigint + coalesce((SELECT max("event_offset") FROM "restores"), 0), 0 FROM "organization";
