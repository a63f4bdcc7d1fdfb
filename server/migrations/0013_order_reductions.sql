ALTER TABLE "orders" ADD COLUMN "reduced_amount" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "reduced_tax_amount" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "orders" ADD COLUMN "reduces_order_id" uuid;--> statement-breakpoint
CREATE INDEX "orders_reducing" ON "orders" USING btree ("organization_id","reduces_order_id") WHERE "orders"."reduces_order_id" is not null;