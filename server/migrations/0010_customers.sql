DROP INDEX "customers_part";--> statement-breakpoint
CREATE INDEX "customers_part" ON "customers" USING gin ("email" gin_trgm_ops,"name" gin_trgm_ops,"external_id" gin_trgm_ops);
