-- Credits from before 0005 name no order line, so a refund or a lost dispute did not revoke them. Link each to the last line of
-- the same subscription and price that was sold for a time that had begun when the credit was granted.
UPDATE "order_items" "credit" SET "reverses_item_id" = (
	SELECT "sold"."id" FROM "order_items" "sold"
	JOIN "orders" ON "orders"."organization_id" = "sold"."organization_id" AND "orders"."id" = "sold"."order_id"
	WHERE "sold"."organization_id" = "credit"."organization_id"
		AND "orders"."subscription_id" = "document"."subscription_id"
		AND "orders"."id" <= "document"."id"
		AND "orders"."status" <> 'void'
		AND "orders"."invoice_number" IS NOT NULL
		AND "sold"."product_price_id" = "credit"."product_price_id"
		AND "sold"."amount" > 0
		AND coalesce("sold"."start_timestamp", "orders"."created_at" - interval '1 hour') <= "credit"."start_timestamp"
	ORDER BY coalesce("sold"."start_timestamp", "orders"."created_at") DESC, "sold"."id" DESC
	LIMIT 1
)
FROM "orders" "document"
WHERE "document"."organization_id" = "credit"."organization_id"
	AND "document"."id" = "credit"."order_id"
	AND "credit"."amount" < 0
	AND "credit"."proration"
	AND "credit"."reverses_item_id" IS NULL;
