CREATE TABLE "subscription_migration_items" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"migration_id" uuid NOT NULL,
	"subscription_id" uuid NOT NULL,
	"state" text NOT NULL,
	"reason" text,
	"from_price_ids" jsonb NOT NULL,
	"currency" text NOT NULL,
	"old_amount" integer NOT NULL,
	"new_amount" integer,
	"notified_at" timestamp with time zone,
	"not_before" timestamp with time zone,
	"applies_at" timestamp with time zone,
	"pending_id" uuid,
	"due_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	CONSTRAINT "subscription_migration_items_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "subscription_migrations" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"from_product_id" uuid NOT NULL,
	"to_product_id" uuid NOT NULL,
	"price_ids" jsonb NOT NULL,
	"notify_days" integer NOT NULL,
	"due_at" timestamp with time zone,
	"cursor" uuid,
	"stopped_at" timestamp with time zone,
	"undone_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	CONSTRAINT "subscription_migrations_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "subscription_migration_items" ADD CONSTRAINT "subscription_migration_items_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_migration_items" ADD CONSTRAINT "subscription_migration_items_migration_id_fkey" FOREIGN KEY ("organization_id","migration_id") REFERENCES "public"."subscription_migrations"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_migration_items" ADD CONSTRAINT "subscription_migration_items_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_migrations" ADD CONSTRAINT "subscription_migrations_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_migrations" ADD CONSTRAINT "subscription_migrations_from_product_id_fkey" FOREIGN KEY ("organization_id","from_product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_migrations" ADD CONSTRAINT "subscription_migrations_to_product_id_fkey" FOREIGN KEY ("organization_id","to_product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "subscription_migration_items_due" ON "subscription_migration_items" USING btree ("organization_id","due_at") WHERE "subscription_migration_items"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "subscription_migration_items_by_state" ON "subscription_migration_items" USING btree ("organization_id","migration_id","state","id");--> statement-breakpoint
CREATE UNIQUE INDEX "subscription_migration_items_open" ON "subscription_migration_items" USING btree ("organization_id","subscription_id") WHERE "subscription_migration_items"."finished_at" is null;--> statement-breakpoint
CREATE INDEX "subscription_migration_items_by_subscription" ON "subscription_migration_items" USING btree ("organization_id","subscription_id");--> statement-breakpoint
CREATE INDEX "subscription_migrations_due" ON "subscription_migrations" USING btree ("organization_id","due_at") WHERE "subscription_migrations"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "subscription_migrations_by_time" ON "subscription_migrations" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "subscription_migrations_open" ON "subscription_migrations" USING btree ("organization_id","from_product_id") WHERE "subscription_migrations"."finished_at" is null;