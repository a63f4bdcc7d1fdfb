ALTER TABLE "customer_meter_lots" ADD COLUMN "given_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD COLUMN "rolled_units" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD COLUMN "by_time" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD COLUMN "billed_units" numeric;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD COLUMN "price_id" uuid;--> statement-breakpoint
ALTER TABLE "customer_meters" ADD COLUMN "by_time" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "customer_meters" ADD COLUMN "price_id" uuid;--> statement-breakpoint
UPDATE "customer_meters" u SET "price_id" = p."id" FROM "subscription_prices" sp
  JOIN "product_prices" p ON p."organization_id" = sp."organization_id" AND p."id" = sp."product_price_id"
  WHERE sp."organization_id" = u."organization_id" AND sp."subscription_id" = u."payer_id" AND p."meter_id" = u."meter_id";--> statement-breakpoint
UPDATE "customer_meter_windows" w SET "price_id" = p."id" FROM "subscription_prices" sp
  JOIN "product_prices" p ON p."organization_id" = sp."organization_id" AND p."id" = sp."product_price_id"
  WHERE sp."organization_id" = w."organization_id" AND sp."subscription_id" = w."payer_id" AND p."meter_id" = w."meter_id";--> statement-breakpoint
UPDATE "customer_meter_windows" SET "billed_units" = "consumed_units" WHERE NOT "is_open" AND "payer_id" IS NOT NULL;--> statement-breakpoint
UPDATE "customer_meter_windows" w SET "rolled_units" = l."rolled" FROM (
    SELECT "organization_id", "customer_id", "meter_id", "closed_at", sum("rolled")::bigint AS "rolled"
    FROM "customer_meter_lots" WHERE "rolled" > 0 GROUP BY 1, 2, 3, 4) l
  WHERE NOT w."is_part" AND l."organization_id" = w."organization_id" AND l."customer_id" = w."customer_id"
    AND l."meter_id" = w."meter_id" AND l."closed_at" = w."ended_at";
