ALTER TABLE "idempotency_keys" ADD COLUMN "mentions" text[];--> statement-breakpoint
CREATE INDEX "idempotency_keys_mentions" ON "idempotency_keys" USING gin ("mentions") WHERE "idempotency_keys"."mentions" is not null;--> statement-breakpoint
-- Whom answers from before are about is not known: any erasure erases them.
UPDATE "idempotency_keys" SET "mentions" = '{*}' WHERE "body" IS NOT NULL;
