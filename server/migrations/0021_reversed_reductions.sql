-- Orders that were reduced while unpaid, and whose whole sale Stripe Tax was told: report the reversal of the reduction.
INSERT INTO "tax_reports" ("organization_id", "id", "created_at", "kind", "order_id", "amount", "tax_amount", "due_at")
SELECT "sale"."organization_id", gen_random_uuid(), now(), 'refund', "sale"."order_id",
	"orders"."reduced_amount" + CASE WHEN "orders"."tax_behavior" = 'inclusive' THEN "orders"."reduced_tax_amount" ELSE 0 END,
	"orders"."reduced_tax_amount", now()
FROM "tax_reports" "sale"
JOIN "orders" ON "orders"."organization_id" = "sale"."organization_id" AND "orders"."id" = "sale"."order_id"
WHERE "sale"."kind" = 'sale'
	AND "orders"."reduced_amount" + "orders"."reduced_tax_amount" > 0
	AND NOT EXISTS (
		SELECT FROM "tax_reports" "reversal"
		WHERE "reversal"."organization_id" = "sale"."organization_id"
			AND "reversal"."order_id" = "sale"."order_id"
			AND "reversal"."kind" = 'refund'
			AND "reversal"."refund_id" IS NULL
			AND "reversal"."dispute_id" IS NULL
	);
