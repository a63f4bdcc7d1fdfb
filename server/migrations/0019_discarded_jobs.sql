ALTER TABLE "failed_work" ADD COLUMN "discarded_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "failed_work_order" ON "failed_work" USING btree ("first_failed_at","kind","row_id");