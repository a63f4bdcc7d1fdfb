CREATE TABLE "attempts" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"window_ends_at" timestamp with time zone NOT NULL,
	"locked_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text,
	"actor_kind" text NOT NULL,
	"user_id" text,
	"key_id" text,
	"impersonated_by" text,
	"action" text NOT NULL,
	"subject_type" text,
	"subject_id" text,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"ip_address" text,
	"user_agent" text,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "organization_role" (
	"id" text PRIMARY KEY NOT NULL,
	"organizationId" text NOT NULL,
	"role" text NOT NULL,
	"permission" text NOT NULL,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "team" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"memberCount" integer DEFAULT 0 NOT NULL,
	"organizationId" text NOT NULL,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "team_member" (
	"id" text PRIMARY KEY NOT NULL,
	"teamId" text NOT NULL,
	"userId" text NOT NULL,
	"membershipKey" text,
	"createdAt" timestamp with time zone,
	CONSTRAINT "team_member_membershipKey_unique" UNIQUE("membershipKey")
);
--> statement-breakpoint
DROP INDEX "apikey_reference";--> statement-breakpoint
ALTER TABLE "apikey" ALTER COLUMN "referenceId" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "apikey" ALTER COLUMN "enabled" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "apikey" ALTER COLUMN "rateLimitEnabled" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "apikey" ALTER COLUMN "requestCount" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "apikey" ADD COLUMN "organizationId" text;--> statement-breakpoint
ALTER TABLE "apikey" ADD COLUMN "userId" text;--> statement-breakpoint
ALTER TABLE "apikey" ADD COLUMN "createdBy" text;--> statement-breakpoint
UPDATE "apikey" SET "organizationId" = "referenceId" WHERE EXISTS (SELECT FROM "organization" WHERE "id" = "referenceId");--> statement-breakpoint
DELETE FROM "apikey" WHERE "organizationId" IS NULL;--> statement-breakpoint
UPDATE "session" SET "token" = 'sha256:' || encode(sha256(convert_to("token", 'UTF8')), 'hex');--> statement-breakpoint
DELETE FROM "device_code";--> statement-breakpoint
ALTER TABLE "apikey" ADD COLUMN "previousKey" text;--> statement-breakpoint
ALTER TABLE "apikey" ADD COLUMN "previousKeyExpiresAt" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "device_code" ADD COLUMN "sessionId" text;--> statement-breakpoint
ALTER TABLE "device_code" ADD COLUMN "confirmation" text;--> statement-breakpoint
ALTER TABLE "device_code" ADD COLUMN "ipAddress" text;--> statement-breakpoint
ALTER TABLE "device_code" ADD COLUMN "userAgent" text;--> statement-breakpoint
ALTER TABLE "device_code" ADD COLUMN "createdAt" timestamp with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "invitation" ADD COLUMN "teamId" text;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "activeTeamId" text;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "impersonatedBy" text;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "clientId" text;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "scope" text;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "username" text;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "displayUsername" text;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "isAnonymous" boolean DEFAULT false;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "role" text DEFAULT 'user';--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "banned" boolean DEFAULT false;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "banReason" text;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "banExpires" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_role" ADD CONSTRAINT "organization_role_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team" ADD CONSTRAINT "team_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_teamId_team_id_fk" FOREIGN KEY ("teamId") REFERENCES "public"."team"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "attempts_age" ON "attempts" USING btree ("window_ends_at");--> statement-breakpoint
CREATE INDEX "audit_log_organization" ON "audit_log" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_user" ON "audit_log" USING btree ("user_id","id");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_role_once" ON "organization_role" USING btree ("organizationId","role");--> statement-breakpoint
CREATE INDEX "team_organization" ON "team" USING btree ("organizationId");--> statement-breakpoint
CREATE UNIQUE INDEX "team_member_once" ON "team_member" USING btree ("teamId","userId");--> statement-breakpoint
CREATE INDEX "team_member_user" ON "team_member" USING btree ("userId");--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_createdBy_user_id_fk" FOREIGN KEY ("createdBy") REFERENCES "public"."user"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "apikey_organization" ON "apikey" USING btree ("organizationId");--> statement-breakpoint
CREATE INDEX "apikey_user" ON "apikey" USING btree ("userId");--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_previousKey_unique" UNIQUE("previousKey");--> statement-breakpoint
ALTER TABLE "user" ADD CONSTRAINT "user_username_unique" UNIQUE("username");--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_owner" CHECK (num_nonnulls("apikey"."organizationId", "apikey"."userId") = 1);