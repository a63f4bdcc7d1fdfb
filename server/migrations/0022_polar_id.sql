ALTER TABLE "organization" ADD COLUMN "polar_id" text;--> statement-breakpoint
ALTER TABLE "organization" ADD CONSTRAINT "organization_polar_id_unique" UNIQUE("polar_id");