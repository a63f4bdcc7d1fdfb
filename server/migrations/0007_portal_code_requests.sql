ALTER TABLE "portal_codes" ADD COLUMN "request_hash" text;--> statement-breakpoint
ALTER TABLE "portal_codes" ADD COLUMN "tries" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "portal_codes_by_request" ON "portal_codes" USING btree ("request_hash");--> statement-breakpoint
CREATE INDEX "portal_codes_by_email" ON "portal_codes" USING btree (lower("email"));