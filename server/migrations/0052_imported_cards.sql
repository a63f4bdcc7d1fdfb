ALTER TABLE "subscriptions" ADD COLUMN "is_imported" boolean DEFAULT false NOT NULL;
