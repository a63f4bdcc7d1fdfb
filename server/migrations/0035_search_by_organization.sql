CREATE EXTENSION IF NOT EXISTS btree_gin;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "benefits_search" ON "benefits" USING gin ("organization_id","description" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "custom_fields_search" ON "custom_fields" USING gin ("organization_id","name" gin_trgm_ops,"slug" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "discounts_search" ON "discounts" USING gin ("organization_id","name" gin_trgm_ops,"code" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "products_search" ON "products" USING gin ("organization_id","name" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "checkouts_search" ON "checkouts" USING gin ("organization_id","customer_email" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "customers_search" ON "customers" USING gin ("organization_id","email" gin_trgm_ops,"name" gin_trgm_ops,"external_id" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "organization_with_storefront" ON "organization" USING btree ("createdAt","id") WHERE "organization"."blocked_at" is null and "organization"."feature_settings" @> '{"storefront_enabled": true}';--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "meters_search" ON "meters" USING gin ("organization_id","name" gin_trgm_ops) WITH (gin_pending_list_limit=256);--> statement-breakpoint
DROP INDEX "benefits_part";--> statement-breakpoint
DROP INDEX "custom_fields_part";--> statement-breakpoint
DROP INDEX "discounts_part";--> statement-breakpoint
DROP INDEX "products_name_part";--> statement-breakpoint
DROP INDEX "checkouts_part";--> statement-breakpoint
DROP INDEX "customers_part";--> statement-breakpoint
DROP INDEX "meters_name_part";