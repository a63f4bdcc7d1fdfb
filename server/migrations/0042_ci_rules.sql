CREATE TABLE "ci_exchanges" (
	"organization_id" text NOT NULL,
	"token_hash" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "ci_exchanges_pkey" PRIMARY KEY("organization_id","token_hash")
);
--> statement-breakpoint
CREATE TABLE "ci_rules" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"user_id" text NOT NULL,
	"provider" text NOT NULL,
	"issuer" text NOT NULL,
	"audience" text NOT NULL,
	"repository" text NOT NULL,
	"branch" text,
	"environment" text,
	"scopes" jsonb NOT NULL,
	"lasts_seconds" integer NOT NULL,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "ci_rules_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "apikey" ADD COLUMN "ciRuleId" uuid;--> statement-breakpoint
ALTER TABLE "ci_exchanges" ADD CONSTRAINT "ci_exchanges_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ci_rules" ADD CONSTRAINT "ci_rules_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "ci_rules" ADD CONSTRAINT "ci_rules_user_id_user_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "ci_exchanges_by_end" ON "ci_exchanges" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "ci_rules_user" ON "ci_rules" USING btree ("user_id");--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_ci_rule_fkey" FOREIGN KEY ("organizationId","ciRuleId") REFERENCES "public"."ci_rules"("organization_id","id") ON DELETE cascade ON UPDATE no action NOT VALID;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "apikey_ci_rule" ON "apikey" USING btree ("organizationId","ciRuleId") WHERE "apikey"."ciRuleId" is not null;