CREATE TABLE "refused_calls" (
	"key" text PRIMARY KEY NOT NULL,
	"id" uuid NOT NULL,
	"organization_id" text,
	"actor_kind" text NOT NULL,
	"user_id" text,
	"key_id" text,
	"operation" text NOT NULL,
	"reason" text NOT NULL,
	"status" integer NOT NULL,
	"count" integer NOT NULL,
	"ip_address" text,
	"user_agent" text,
	"created_at" timestamp with time zone NOT NULL,
	"last_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "refused_calls" ADD CONSTRAINT "refused_calls_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "refused_calls_organization" ON "refused_calls" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "refused_calls_user" ON "refused_calls" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "refused_calls_age" ON "refused_calls" USING btree ("created_at");