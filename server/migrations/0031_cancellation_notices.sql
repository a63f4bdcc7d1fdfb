CREATE TABLE "cancellation_notices" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"reference" text NOT NULL,
	"kind" text NOT NULL,
	"reason" text,
	"wanted_on" text,
	"token_hash" text,
	"expires_at" timestamp with time zone NOT NULL,
	"confirmed_at" timestamp with time zone,
	"settled_at" timestamp with time zone,
	"customer_id" uuid,
	"subscription_id" uuid,
	CONSTRAINT "cancellation_notices_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "cancellation_notices" ADD CONSTRAINT "cancellation_notices_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cancellation_notices" ADD CONSTRAINT "cancellation_notices_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "cancellation_notices" ADD CONSTRAINT "cancellation_notices_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "cancellation_notices_by_time" ON "cancellation_notices" USING btree ("organization_id","created_at");--> statement-breakpoint
CREATE INDEX "cancellation_notices_by_token" ON "cancellation_notices" USING btree ("token_hash") WHERE "cancellation_notices"."token_hash" is not null;--> statement-breakpoint
CREATE INDEX "cancellation_notices_by_customer" ON "cancellation_notices" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "cancellation_notices_by_subscription" ON "cancellation_notices" USING btree ("organization_id","subscription_id");--> statement-breakpoint
CREATE INDEX "cancellation_notices_by_age" ON "cancellation_notices" USING btree ("created_at");