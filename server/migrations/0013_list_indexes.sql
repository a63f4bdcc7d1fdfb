ALTER TABLE "products" ADD COLUMN "sort_amount_type" text;--> statement-breakpoint
ALTER TABLE "products" ADD COLUMN "sort_amount" integer;--> statement-breakpoint
UPDATE "products" SET "sort_amount_type" = "oldest"."amount_type", "sort_amount" = "oldest"."amount" FROM (
	SELECT DISTINCT ON ("product_id") "product_id", "amount_type", CASE "amount_type"
		WHEN 'fixed' THEN "price_amount"
		WHEN 'custom' THEN coalesce("minimum_amount", -1)
		WHEN 'seat_based' THEN ("seat_tiers" -> 'tiers' -> 0 ->> 'price_per_seat')::int
		WHEN 'free' THEN -2
		ELSE 0 END AS "amount"
	FROM "product_prices" WHERE NOT "is_archived" AND "source" = 'catalog' ORDER BY "product_id", "created_at", "id"
) AS "oldest" WHERE "oldest"."product_id" = "products"."id";--> statement-breakpoint
CREATE INDEX "benefits_by_description" ON "benefits" USING btree ("organization_id","description","id") WHERE "benefits"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "benefits_by_type" ON "benefits" USING btree ("organization_id","type","id") WHERE "benefits"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_by_name" ON "custom_fields" USING btree ("organization_id","name","id") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_by_type" ON "custom_fields" USING btree ("organization_id","type","id") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_code" ON "discounts" USING btree ("organization_id","code","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_redemptions" ON "discounts" USING btree ("organization_id","redemptions_count","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_end" ON "discounts" USING btree ("organization_id","ends_at","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "products_by_amount_type" ON "products" USING btree ("organization_id","sort_amount_type","id");--> statement-breakpoint
CREATE INDEX "products_by_amount" ON "products" USING btree ("organization_id","sort_amount","id");