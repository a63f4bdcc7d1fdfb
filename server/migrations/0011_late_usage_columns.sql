ALTER TABLE "customer_meter_windows" DROP COLUMN "late_units";--> statement-breakpoint
ALTER TABLE "customer_meters" DROP COLUMN "late_units";--> statement-breakpoint
ALTER TABLE "customer_meters" DROP COLUMN "late_from";--> statement-breakpoint
ALTER TABLE "customer_meters" DROP COLUMN "late_until";