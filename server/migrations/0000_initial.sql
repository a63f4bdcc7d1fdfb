CREATE EXTENSION IF NOT EXISTS pg_trgm;--> statement-breakpoint
CREATE TABLE "account" (
	"id" text PRIMARY KEY NOT NULL,
	"accountId" text NOT NULL,
	"providerId" text NOT NULL,
	"userId" text NOT NULL,
	"accessToken" text,
	"refreshToken" text,
	"idToken" text,
	"accessTokenExpiresAt" timestamp with time zone,
	"refreshTokenExpiresAt" timestamp with time zone,
	"scope" text,
	"password" text,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "apikey" (
	"id" text PRIMARY KEY NOT NULL,
	"configId" text DEFAULT 'default' NOT NULL,
	"organizationId" text,
	"userId" text,
	"createdBy" text,
	"name" text,
	"start" text,
	"prefix" text,
	"key" text NOT NULL,
	"previousKey" text,
	"previousKeyExpiresAt" timestamp with time zone,
	"enabled" boolean DEFAULT true NOT NULL,
	"remaining" integer,
	"refillInterval" integer,
	"refillAmount" integer,
	"lastRefillAt" timestamp with time zone,
	"rateLimitEnabled" boolean DEFAULT false NOT NULL,
	"rateLimitTimeWindow" integer,
	"rateLimitMax" integer,
	"requestCount" integer DEFAULT 0 NOT NULL,
	"rateLimitStartedAt" timestamp with time zone,
	"lastRequest" timestamp with time zone,
	"expiresAt" timestamp with time zone,
	"permissions" text,
	"metadata" text,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone NOT NULL,
	CONSTRAINT "apikey_key_unique" UNIQUE("key"),
	CONSTRAINT "apikey_previousKey_unique" UNIQUE("previousKey"),
	CONSTRAINT "apikey_owner" CHECK (num_nonnulls("apikey"."organizationId", "apikey"."userId") = 1)
);
--> statement-breakpoint
CREATE TABLE "attempts" (
	"key" text PRIMARY KEY NOT NULL,
	"count" integer NOT NULL,
	"window_ends_at" timestamp with time zone NOT NULL,
	"locked_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "device_code" (
	"id" text PRIMARY KEY NOT NULL,
	"deviceCode" text NOT NULL,
	"userCode" text NOT NULL,
	"userId" text,
	"expiresAt" timestamp with time zone NOT NULL,
	"status" text NOT NULL,
	"lastPolledAt" timestamp with time zone,
	"pollingInterval" integer,
	"clientId" text,
	"scope" text,
	"sessionId" text,
	"confirmation" text,
	"ipAddress" text,
	"userAgent" text,
	"createdAt" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "device_code_deviceCode_unique" UNIQUE("deviceCode"),
	CONSTRAINT "device_code_userCode_unique" UNIQUE("userCode")
);
--> statement-breakpoint
CREATE TABLE "invitation" (
	"id" text PRIMARY KEY NOT NULL,
	"organizationId" text NOT NULL,
	"email" text NOT NULL,
	"role" text,
	"status" text DEFAULT 'pending' NOT NULL,
	"teamId" text,
	"expiresAt" timestamp with time zone NOT NULL,
	"inviterId" text NOT NULL,
	"createdAt" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "member" (
	"id" text PRIMARY KEY NOT NULL,
	"organizationId" text NOT NULL,
	"userId" text NOT NULL,
	"role" text DEFAULT 'member' NOT NULL,
	"createdAt" timestamp with time zone NOT NULL
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
CREATE TABLE "session" (
	"id" text PRIMARY KEY NOT NULL,
	"token" text NOT NULL,
	"userId" text NOT NULL,
	"expiresAt" timestamp with time zone NOT NULL,
	"ipAddress" text,
	"userAgent" text,
	"activeOrganizationId" text,
	"activeTeamId" text,
	"impersonatedBy" text,
	"clientId" text,
	"scope" text,
	"remembered" boolean DEFAULT true NOT NULL,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone NOT NULL,
	CONSTRAINT "session_token_unique" UNIQUE("token")
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
CREATE TABLE "user" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"email" text NOT NULL,
	"emailVerified" boolean DEFAULT false NOT NULL,
	"image" text,
	"username" text,
	"displayUsername" text,
	"isAnonymous" boolean DEFAULT false,
	"role" text DEFAULT 'user',
	"banned" boolean DEFAULT false,
	"banReason" text,
	"banExpires" timestamp with time zone,
	"extra" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone NOT NULL,
	CONSTRAINT "user_email_unique" UNIQUE("email"),
	CONSTRAINT "user_username_unique" UNIQUE("username")
);
--> statement-breakpoint
CREATE TABLE "verification" (
	"id" text PRIMARY KEY NOT NULL,
	"identifier" text NOT NULL,
	"value" text NOT NULL,
	"expiresAt" timestamp with time zone NOT NULL,
	"createdAt" timestamp with time zone NOT NULL,
	"updatedAt" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "benefits" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"type" text NOT NULL,
	"description" text NOT NULL,
	"visibility" text DEFAULT 'public' NOT NULL,
	"selectable" boolean DEFAULT true NOT NULL,
	"deletable" boolean DEFAULT true NOT NULL,
	"properties" jsonb NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "benefits_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "catalog_entries" (
	"organization_id" text NOT NULL,
	"catalog" text NOT NULL,
	"kind" text NOT NULL,
	"key" text NOT NULL,
	"subject_id" uuid NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "catalog_entries_organization_id_catalog_kind_key_pk" PRIMARY KEY("organization_id","catalog","kind","key")
);
--> statement-breakpoint
CREATE TABLE "checkout_link_products" (
	"organization_id" text NOT NULL,
	"checkout_link_id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "checkout_link_products_pkey" PRIMARY KEY("organization_id","checkout_link_id","product_id")
);
--> statement-breakpoint
CREATE TABLE "checkout_link_secrets" (
	"client_secret" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"checkout_link_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "checkout_links" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"client_secret" text NOT NULL,
	"label" text,
	"trial_interval" text,
	"trial_interval_count" integer,
	"allow_discount_codes" boolean NOT NULL,
	"require_billing_address" boolean NOT NULL,
	"discount_id" uuid,
	"seats" integer,
	"success_url" text,
	"return_url" text,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "checkout_links_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "checkout_secrets" (
	"secret_hash" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"checkout_id" uuid NOT NULL
);
--> statement-breakpoint
CREATE TABLE "checkouts" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text DEFAULT 'open' NOT NULL,
	"client_secret" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"success_url" text,
	"return_url" text,
	"embed_origin" text,
	"product_ids" jsonb NOT NULL,
	"product_id" uuid NOT NULL,
	"product_price_id" uuid NOT NULL,
	"own_price_ids" jsonb,
	"seats" integer,
	"min_seats" integer,
	"max_seats" integer,
	"chosen_amount" integer,
	"discount_id" uuid,
	"trial_interval" text,
	"trial_interval_count" integer,
	"trial_end" timestamp with time zone,
	"subscription_id" uuid,
	"quote" jsonb NOT NULL,
	"allow_discount_codes" boolean DEFAULT true NOT NULL,
	"require_billing_address" boolean DEFAULT false NOT NULL,
	"allow_trial" boolean DEFAULT true NOT NULL,
	"is_business_customer" boolean DEFAULT false NOT NULL,
	"customer_id" uuid,
	"is_customer_named" boolean DEFAULT false NOT NULL,
	"is_customer_made" boolean DEFAULT false NOT NULL,
	"external_customer_id" text,
	"customer_name" text,
	"customer_email" text,
	"customer_ip_address" text,
	"customer_billing_name" text,
	"customer_billing_address" jsonb,
	"customer_tax_id" jsonb,
	"locale" text,
	"payment_method_type" text,
	"payment_processor_metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"order_id" uuid,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"customer_metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"custom_field_data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "checkouts_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "custom_fields" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"type" text NOT NULL,
	"slug" text NOT NULL,
	"former_slugs" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"name" text NOT NULL,
	"properties" jsonb NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "custom_fields_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_account_requests" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"session_id" uuid NOT NULL,
	"platform" text NOT NULL,
	"state_hash" text NOT NULL,
	"return_to" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "customer_account_requests_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_accounts" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"member_id" uuid,
	"platform" text NOT NULL,
	"account_number" text NOT NULL,
	"username" text,
	"tokens_sealed" text,
	"expires_at" timestamp with time zone,
	"renewing_until" timestamp with time zone,
	CONSTRAINT "customer_accounts_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_sessions" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"token_hash" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"member_id" uuid,
	"expires_at" timestamp with time zone NOT NULL,
	"return_url" text,
	CONSTRAINT "customer_sessions_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_state_notices" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	CONSTRAINT "customer_state_notices_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customers" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"type" text DEFAULT 'individual' NOT NULL,
	"external_id" text,
	"email" text,
	"email_verified" boolean DEFAULT false NOT NULL,
	"name" text,
	"billing_name" text,
	"billing_address" jsonb,
	"tax_id" jsonb,
	"locale" text,
	"default_payment_method_id" uuid,
	"first_user_event_at" timestamp with time zone,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"deleted_external_id" text,
	"anonymized_at" timestamp with time zone,
	CONSTRAINT "customers_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "discount_products" (
	"organization_id" text NOT NULL,
	"discount_id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "discount_products_pkey" PRIMARY KEY("organization_id","discount_id","product_id")
);
--> statement-breakpoint
CREATE TABLE "discount_redemptions" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"discount_id" uuid NOT NULL,
	"checkout_id" uuid,
	"order_id" uuid,
	"subscription_id" uuid,
	"customer_id" uuid NOT NULL,
	"email_key" text NOT NULL,
	"card" text,
	"is_counted" boolean NOT NULL,
	CONSTRAINT "discount_redemptions_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "discounts" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"name" text NOT NULL,
	"code" text,
	"type" text NOT NULL,
	"amounts" jsonb,
	"currency" text,
	"basis_points" integer,
	"duration" text NOT NULL,
	"duration_in_months" integer,
	"starts_at" timestamp with time zone,
	"ends_at" timestamp with time zone,
	"max_redemptions" integer,
	"max_redemptions_per_customer" integer,
	"redemptions_count" integer DEFAULT 0 NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "discounts_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "disputes" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text,
	"amount" integer DEFAULT 0 NOT NULL,
	"tax_amount" integer DEFAULT 0 NOT NULL,
	"currency" text NOT NULL,
	"reason" text,
	"evidence_due_by" timestamp with time zone,
	"order_id" uuid NOT NULL,
	"customer_id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"is_surplus" boolean NOT NULL,
	"processor_id" text NOT NULL,
	"accepted_at" timestamp with time zone,
	"due_at" timestamp with time zone,
	CONSTRAINT "disputes_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "downloadables" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"benefit_id" uuid NOT NULL,
	"file_id" uuid NOT NULL,
	"status" text NOT NULL,
	"downloads" integer DEFAULT 0 NOT NULL,
	"last_downloaded_at" timestamp with time zone,
	CONSTRAINT "downloadables_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "usage_events" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"timestamp" timestamp with time zone NOT NULL,
	"name" text NOT NULL,
	"source" text NOT NULL,
	"customer_id" uuid,
	"attached_key" uuid,
	"external_customer_id" text,
	"external_id" text,
	"parent_id" uuid,
	"depth" smallint NOT NULL,
	"member_id" uuid,
	"external_member_id" text,
	"metadata" jsonb NOT NULL,
	CONSTRAINT "usage_events_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "usage_keys" (
	"organization_id" text NOT NULL,
	"external_id" text NOT NULL,
	"event_id" uuid NOT NULL,
	"digest" uuid NOT NULL,
	CONSTRAINT "usage_keys_pkey" PRIMARY KEY("organization_id","external_id")
);
--> statement-breakpoint
CREATE TABLE "usage_names" (
	"organization_id" text NOT NULL,
	"id" bigserial NOT NULL,
	"name" text NOT NULL,
	"source" text NOT NULL,
	"occurrences" bigint NOT NULL,
	"first_seen" timestamp with time zone NOT NULL,
	"last_seen" timestamp with time zone NOT NULL,
	CONSTRAINT "usage_names_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "usage_waiting" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"external_customer_id" text NOT NULL,
	"due_at" timestamp with time zone,
	CONSTRAINT "usage_waiting_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "files" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"service" text NOT NULL,
	"name" text NOT NULL,
	"path" text NOT NULL,
	"mime_type" text NOT NULL,
	"size" bigint NOT NULL,
	"version" text,
	"storage_version" text,
	"checksum_etag" text,
	"checksum_sha256_base64" text,
	"checksum_sha256_hex" text,
	"last_modified_at" timestamp with time zone,
	"is_uploaded" boolean DEFAULT false NOT NULL,
	"upload_id" text,
	"upload_parts" jsonb,
	"purged_at" timestamp with time zone,
	CONSTRAINT "files_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "benefit_grants" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"member_id" uuid,
	"benefit_id" uuid NOT NULL,
	"subscription_id" uuid,
	"order_id" uuid,
	"granted_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"error" jsonb,
	"properties" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"terms" text,
	"access_id" uuid,
	"telling" text,
	CONSTRAINT "benefit_grants_pkey" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "benefit_grants_one_source" CHECK (num_nonnulls("benefit_grants"."subscription_id", "benefit_grants"."order_id") <= 1),
	CONSTRAINT "benefit_grants_one_state" CHECK (num_nonnulls("benefit_grants"."granted_at", "benefit_grants"."revoked_at") <= 1),
	CONSTRAINT "benefit_grants_failed" CHECK ("benefit_grants"."error" is null or num_nonnulls("benefit_grants"."granted_at", "benefit_grants"."revoked_at") = 0),
	CONSTRAINT "benefit_grants_let_in" CHECK ("benefit_grants"."access_id" is null or num_nonnulls("benefit_grants"."error", "benefit_grants"."revoked_at") = 0),
	CONSTRAINT "benefit_grants_telling" CHECK ("benefit_grants"."telling" is null or "benefit_grants"."access_id" is not null)
);
--> statement-breakpoint
CREATE TABLE "grant_accesses" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"platform" text NOT NULL,
	"account_number" text NOT NULL,
	"place" text NOT NULL,
	"asked" text,
	"given" text,
	"kicks" boolean DEFAULT false NOT NULL,
	"turn" integer DEFAULT 0 NOT NULL,
	"leased_until" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone,
	CONSTRAINT "grant_accesses_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "grant_checks" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"subscription_id" uuid,
	"order_id" uuid,
	"due_at" timestamp with time zone NOT NULL,
	CONSTRAINT "grant_checks_pkey" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "grant_checks_one_source" CHECK (num_nonnulls("grant_checks"."subscription_id", "grant_checks"."order_id") <= 1)
);
--> statement-breakpoint
CREATE TABLE "grant_runs" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"product_id" uuid,
	"benefit_id" uuid,
	"fence" text,
	"stage" text DEFAULT 'subscriptions' NOT NULL,
	"cursor" uuid,
	"noted" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone,
	"stopped_at" timestamp with time zone,
	CONSTRAINT "grant_runs_pkey" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "grant_runs_one_reason" CHECK (num_nonnulls("grant_runs"."product_id", "grant_runs"."benefit_id") <= 1)
);
--> statement-breakpoint
CREATE TABLE "document_counters" (
	"organization_id" text NOT NULL,
	"series" text NOT NULL,
	"next_number" integer NOT NULL,
	CONSTRAINT "document_counters_organization_id_series_pk" PRIMARY KEY("organization_id","series")
);
--> statement-breakpoint
CREATE TABLE "invoice_export_orders" (
	"organization_id" text NOT NULL,
	"export_id" uuid NOT NULL,
	"order_id" uuid NOT NULL,
	CONSTRAINT "invoice_export_orders_pkey" PRIMARY KEY("organization_id","export_id","order_id")
);
--> statement-breakpoint
CREATE TABLE "invoice_exports" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"created_after" timestamp with time zone,
	"created_before" timestamp with time zone,
	"customer_ids" jsonb,
	"product_ids" jsonb,
	"after" jsonb,
	"skipped" integer DEFAULT 0 NOT NULL,
	"due_at" timestamp with time zone,
	CONSTRAINT "invoice_exports_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "invoices" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"kind" text NOT NULL,
	"number" text NOT NULL,
	"order_id" uuid NOT NULL,
	"refund_id" uuid,
	"digest" text,
	"file_id" uuid,
	"printed_at" timestamp with time zone,
	"due_at" timestamp with time zone,
	CONSTRAINT "invoices_pkey" PRIMARY KEY("organization_id","id")
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
CREATE TABLE "events" (
	"id" uuid NOT NULL,
	"seq" bigserial NOT NULL,
	"xid" bigint DEFAULT (pg_current_xact_id()::text::bigint) NOT NULL,
	"organization_id" text NOT NULL,
	"type" text NOT NULL,
	"data" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"dispatched_at" timestamp with time zone,
	CONSTRAINT "events_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "failed_work" (
	"kind" text NOT NULL,
	"row_id" text NOT NULL,
	"organization_id" text,
	"attempts" integer NOT NULL,
	"error" text NOT NULL,
	"first_failed_at" timestamp with time zone NOT NULL,
	"retry_at" timestamp with time zone,
	CONSTRAINT "failed_work_kind_row_id_pk" PRIMARY KEY("kind","row_id")
);
--> statement-breakpoint
CREATE TABLE "idempotency_keys" (
	"subject" text NOT NULL,
	"key" text NOT NULL,
	"request_hash" text NOT NULL,
	"status" integer,
	"body" text,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "idempotency_keys_subject_key_pk" PRIMARY KEY("subject","key")
);
--> statement-breakpoint
CREATE TABLE "list_tallies" (
	"organization_id" text NOT NULL,
	"id" bigserial NOT NULL,
	"list" text NOT NULL,
	"change" integer NOT NULL,
	CONSTRAINT "list_tallies_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "mails" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text,
	"customer_id" uuid,
	"to" text NOT NULL,
	"subject" text NOT NULL,
	"letter" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"sent_at" timestamp with time zone,
	"expires_at" timestamp with time zone,
	"attempts" integer DEFAULT 0 NOT NULL,
	"next_attempt_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "lease_keys" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"seed_sealed" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "license_key_activations" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"license_key_id" uuid NOT NULL,
	"label" text NOT NULL,
	"conditions" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"meta" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"deactivated_at" timestamp with time zone,
	CONSTRAINT "license_key_activations_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "license_keys" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"member_id" uuid,
	"benefit_id" uuid NOT NULL,
	"grant_id" uuid NOT NULL,
	"key_hash" text NOT NULL,
	"key_sealed" text NOT NULL,
	"display_key" text NOT NULL,
	"status" text DEFAULT 'granted' NOT NULL,
	"limit_activations" integer,
	"usage" integer DEFAULT 0 NOT NULL,
	"limit_usage" integer,
	"validations" integer DEFAULT 0 NOT NULL,
	"last_validated_at" timestamp with time zone,
	"expires_at" timestamp with time zone,
	CONSTRAINT "license_keys_pkey" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "license_keys_usage" CHECK ("license_keys"."usage" >= 0)
);
--> statement-breakpoint
CREATE TABLE "members" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"email" text NOT NULL,
	"name" text,
	"external_id" text,
	"role" text NOT NULL,
	CONSTRAINT "members_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_meter_lots" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"meter_id" uuid NOT NULL,
	"source_kind" text NOT NULL,
	"source_id" text NOT NULL,
	"amount" bigint NOT NULL,
	"rollover" boolean NOT NULL,
	"expires_at" timestamp with time zone,
	"priority" integer NOT NULL,
	"taken" bigint DEFAULT 0 NOT NULL,
	"expired" bigint DEFAULT 0 NOT NULL,
	"spent" bigint DEFAULT 0 NOT NULL,
	"rolled" bigint DEFAULT 0 NOT NULL,
	"expired_at" timestamp with time zone,
	"closed_at" timestamp with time zone,
	CONSTRAINT "customer_meter_lots_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_meter_values" (
	"organization_id" text NOT NULL,
	"meter_id" uuid NOT NULL,
	"customer_id" uuid NOT NULL,
	"value" uuid NOT NULL,
	CONSTRAINT "customer_meter_values_pkey" PRIMARY KEY("organization_id","meter_id","customer_id","value")
);
--> statement-breakpoint
CREATE TABLE "customer_meter_windows" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"meter_id" uuid NOT NULL,
	"started_at" timestamp with time zone,
	"ended_at" timestamp with time zone NOT NULL,
	"since_key" uuid,
	"until_key" uuid NOT NULL,
	"consumed_units" numeric NOT NULL,
	"counted" bigint NOT NULL,
	"total" numeric NOT NULL,
	"credited_units" bigint NOT NULL,
	"rollover_units" bigint NOT NULL,
	"late_units" numeric NOT NULL,
	"late_from" timestamp with time zone,
	"late_until" timestamp with time zone,
	"free_units" numeric NOT NULL,
	"billed_from" timestamp with time zone,
	"payer_id" uuid,
	"is_open" boolean NOT NULL,
	"is_part" boolean NOT NULL,
	CONSTRAINT "customer_meter_windows_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_meters" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"meter_id" uuid NOT NULL,
	"consumed_units" numeric NOT NULL,
	"counted" bigint NOT NULL,
	"total" numeric NOT NULL,
	"credited_units" bigint DEFAULT 0 NOT NULL,
	"rollover_units" bigint DEFAULT 0 NOT NULL,
	"started_at" timestamp with time zone,
	"since_key" uuid,
	"last_key" uuid,
	"late_units" numeric DEFAULT '0' NOT NULL,
	"late_from" timestamp with time zone,
	"late_until" timestamp with time zone,
	"free_units" numeric DEFAULT '0' NOT NULL,
	"billed_from" timestamp with time zone,
	"payer_id" uuid,
	"ends_at" timestamp with time zone,
	"rhythm" jsonb,
	"due_at" timestamp with time zone,
	"notice_at" timestamp with time zone,
	CONSTRAINT "customer_meters_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "meters" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"archived_at" timestamp with time zone,
	"first_counted_at" timestamp with time zone,
	"recount_at" timestamp with time zone,
	"recounted_at" timestamp with time zone,
	"name" text NOT NULL,
	"unit" text DEFAULT 'scalar' NOT NULL,
	"custom_label" text,
	"custom_multiplier" integer,
	"filter" jsonb NOT NULL,
	"aggregation" jsonb NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "meters_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "metric_tallies" (
	"organization_id" text NOT NULL,
	"id" bigserial NOT NULL,
	"seconds" integer NOT NULL,
	"at" timestamp with time zone NOT NULL,
	"product_id" uuid NOT NULL,
	"orders" bigint,
	"revenue" bigint,
	"net_revenue" bigint,
	"one_time" bigint,
	"one_time_revenue" bigint,
	"one_time_net_revenue" bigint,
	"opening" bigint,
	"opening_revenue" bigint,
	"opening_net_revenue" bigint,
	"checkouts" bigint,
	"succeeded" bigint,
	"started" bigint,
	"churned" bigint,
	"seats" bigint,
	"mrr" bigint,
	"trial_mrr" bigint,
	"canceled" bigint,
	"canceled_customer_service" bigint,
	"canceled_low_quality" bigint,
	"canceled_missing_features" bigint,
	"canceled_switched_service" bigint,
	"canceled_too_complex" bigint,
	"canceled_too_expensive" bigint,
	"canceled_unused" bigint,
	"canceled_other" bigint,
	CONSTRAINT "metric_tallies_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_balances" (
	"organization_id" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"currency" text NOT NULL,
	"amount" integer NOT NULL,
	"modified_at" timestamp with time zone,
	CONSTRAINT "customer_balances_pkey" PRIMARY KEY("organization_id","customer_id","currency")
);
--> statement-breakpoint
CREATE TABLE "invoice_counters" (
	"organization_id" text PRIMARY KEY NOT NULL,
	"next_number" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "order_confirmations" (
	"organization_id" text NOT NULL,
	"order_id" uuid NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	CONSTRAINT "order_confirmations_pkey" PRIMARY KEY("organization_id","order_id")
);
--> statement-breakpoint
CREATE TABLE "order_items" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"order_id" uuid NOT NULL,
	"label" text NOT NULL,
	"amount" integer NOT NULL,
	"tax_amount" integer DEFAULT 0 NOT NULL,
	"proration" boolean DEFAULT false NOT NULL,
	"product_price_id" uuid,
	"start_timestamp" timestamp with time zone,
	"end_timestamp" timestamp with time zone,
	"position" integer NOT NULL,
	CONSTRAINT "order_items_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "orders" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text NOT NULL,
	"billing_reason" text NOT NULL,
	"currency" text NOT NULL,
	"subtotal_amount" integer NOT NULL,
	"discount_amount" integer NOT NULL,
	"tax_amount" integer NOT NULL,
	"tax_behavior" text NOT NULL,
	"derivation" jsonb NOT NULL,
	"applied_balance_amount" integer DEFAULT 0 NOT NULL,
	"refunded_amount" integer DEFAULT 0 NOT NULL,
	"refunded_tax_amount" integer DEFAULT 0 NOT NULL,
	"platform_fee_amount" integer DEFAULT 0 NOT NULL,
	"dispute_status" text,
	"access" text DEFAULT 'granted' NOT NULL,
	"billing_name" text,
	"billing_address" jsonb,
	"invoice_number" text,
	"is_invoice_generated" boolean DEFAULT false NOT NULL,
	"receipt_number" text,
	"description" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"checkout_id" uuid,
	"discount_id" uuid,
	"subscription_id" uuid,
	"begins" jsonb,
	"seats" integer,
	"customer_tax_id" jsonb,
	"settle_due_at" timestamp with time zone,
	"terms" text NOT NULL,
	"period_start" timestamp with time zone,
	"occasion" text,
	"changes" jsonb,
	"next_payment_attempt_at" timestamp with time zone,
	"failed_payments" integer DEFAULT 0 NOT NULL,
	"paid_at" timestamp with time zone,
	"preceded_at" timestamp with time zone,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"custom_field_data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "orders_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "receipt_counters" (
	"organization_id" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"next_number" integer NOT NULL,
	CONSTRAINT "receipt_counters_pkey" PRIMARY KEY("organization_id","customer_id")
);
--> statement-breakpoint
CREATE TABLE "organization" (
	"id" text PRIMARY KEY NOT NULL,
	"name" text NOT NULL,
	"slug" text NOT NULL,
	"logo" text,
	"metadata" text,
	"createdAt" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"email" text,
	"website" text,
	"socials" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"status" text DEFAULT 'created' NOT NULL,
	"details" jsonb,
	"details_submitted_at" timestamp with time zone,
	"country" text,
	"default_presentment_currency" text DEFAULT 'usd' NOT NULL,
	"default_tax_behavior" text DEFAULT 'location' NOT NULL,
	"feature_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"subscription_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"notification_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"customer_email_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"customer_portal_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"branding" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"invoice_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"dispute_settings" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"embed_hosts" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"sso_enforced" boolean DEFAULT false NOT NULL,
	"blocked_at" timestamp with time zone,
	"clock_offset_ms" bigint DEFAULT 0 NOT NULL,
	"sandbox" boolean DEFAULT false NOT NULL,
	"clock_target" timestamp with time zone,
	"clock_held_until" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "payment_customers" (
	"organization_id" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"account" text NOT NULL,
	"processor_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "payment_customers_pkey" PRIMARY KEY("organization_id","customer_id","account")
);
--> statement-breakpoint
CREATE TABLE "payment_methods" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"customer_id" uuid NOT NULL,
	"account" text NOT NULL,
	"processor_id" text NOT NULL,
	"customer_processor_id" text NOT NULL,
	"card" jsonb NOT NULL,
	"fingerprint" text NOT NULL,
	"expiry_due_at" timestamp with time zone,
	CONSTRAINT "payment_methods_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "payment_setups" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text DEFAULT 'pending' NOT NULL,
	"order_id" uuid,
	"terms" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"customer_email" text NOT NULL,
	"account" text NOT NULL,
	"decline_reason" text,
	"decline_message" text,
	"requested_at" timestamp with time zone NOT NULL,
	"processor_id" text,
	"intent_status" text,
	"fingerprint" text,
	"payment_method_id" uuid,
	"reconcile_due_at" timestamp with time zone,
	"sets_default" boolean DEFAULT false NOT NULL,
	"subscription_id" uuid,
	"confirmation_token_id" text NOT NULL,
	CONSTRAINT "payment_setups_pkey" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "payment_setups_for_one" CHECK ("payment_setups"."order_id" is null or "payment_setups"."subscription_id" is null)
);
--> statement-breakpoint
CREATE TABLE "payments" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text DEFAULT 'pending' NOT NULL,
	"order_id" uuid NOT NULL,
	"terms" text NOT NULL,
	"customer_id" uuid NOT NULL,
	"customer_email" text NOT NULL,
	"account" text NOT NULL,
	"decline_reason" text,
	"decline_message" text,
	"requested_at" timestamp with time zone NOT NULL,
	"processor_id" text,
	"intent_status" text,
	"fingerprint" text,
	"payment_method_id" uuid,
	"reconcile_due_at" timestamp with time zone,
	"amount" integer NOT NULL,
	"currency" text NOT NULL,
	"method" text DEFAULT 'card' NOT NULL,
	"trigger" text DEFAULT 'purchase' NOT NULL,
	"card" jsonb,
	"keep" boolean DEFAULT false NOT NULL,
	"is_surplus" boolean DEFAULT false NOT NULL,
	"confirmation_token_id" text,
	CONSTRAINT "payments_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "processor_events" (
	"id" text PRIMARY KEY NOT NULL,
	"account" text NOT NULL,
	"kind" text NOT NULL,
	"processor_id" text NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "portal_codes" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"purpose" text NOT NULL,
	"email" text NOT NULL,
	"customer_id" uuid,
	"member_id" uuid,
	"code_hash" text,
	"due_at" timestamp with time zone,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "portal_codes_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_erasures" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"stage" text,
	"fence" text,
	"cursor" text,
	"words" text,
	"due_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	CONSTRAINT "customer_erasures_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "test_disputes" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"intent_id" text NOT NULL,
	"status" text NOT NULL,
	"amount" integer NOT NULL,
	"reason" text NOT NULL,
	"evidence_due_at" timestamp with time zone NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "test_events" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"event" jsonb NOT NULL,
	"due_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "test_intents" (
	"payment_id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"id" text NOT NULL,
	"client_secret" text NOT NULL,
	"status" text NOT NULL,
	"decline" jsonb,
	"scenario" text NOT NULL,
	"card" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"amount" integer NOT NULL,
	"currency" text NOT NULL,
	"method_id" text,
	"customer_processor_id" text,
	CONSTRAINT "test_intents_id_unique" UNIQUE("id"),
	CONSTRAINT "test_intents_client_secret_unique" UNIQUE("client_secret"),
	CONSTRAINT "test_intents_method_id_unique" UNIQUE("method_id")
);
--> statement-breakpoint
CREATE TABLE "test_refunds" (
	"id" text PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"refund_id" uuid,
	"intent_id" text NOT NULL,
	"amount" integer NOT NULL,
	"reason" text,
	"status" text NOT NULL,
	"later_status" text,
	"later_at" timestamp with time zone,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "test_refunds_refund_id_unique" UNIQUE("refund_id")
);
--> statement-breakpoint
CREATE TABLE "test_setups" (
	"setup_id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"id" text NOT NULL,
	"client_secret" text NOT NULL,
	"status" text NOT NULL,
	"decline" jsonb,
	"scenario" text NOT NULL,
	"card" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"method_id" text NOT NULL,
	"customer_processor_id" text NOT NULL,
	CONSTRAINT "test_setups_id_unique" UNIQUE("id"),
	CONSTRAINT "test_setups_client_secret_unique" UNIQUE("client_secret"),
	CONSTRAINT "test_setups_method_id_unique" UNIQUE("method_id")
);
--> statement-breakpoint
CREATE TABLE "test_tokens" (
	"id" text PRIMARY KEY NOT NULL,
	"scenario" text NOT NULL,
	"card" jsonb NOT NULL,
	"created_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "product_benefits" (
	"organization_id" text NOT NULL,
	"product_id" uuid NOT NULL,
	"benefit_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "product_benefits_pkey" PRIMARY KEY("organization_id","product_id","benefit_id")
);
--> statement-breakpoint
CREATE TABLE "product_custom_fields" (
	"organization_id" text NOT NULL,
	"product_id" uuid NOT NULL,
	"custom_field_id" uuid NOT NULL,
	"order" integer NOT NULL,
	"required" boolean NOT NULL,
	CONSTRAINT "product_custom_fields_pkey" PRIMARY KEY("organization_id","product_id","custom_field_id")
);
--> statement-breakpoint
CREATE TABLE "product_medias" (
	"organization_id" text NOT NULL,
	"product_id" uuid NOT NULL,
	"file_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "product_medias_pkey" PRIMARY KEY("organization_id","product_id","file_id")
);
--> statement-breakpoint
CREATE TABLE "product_prices" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"product_id" uuid NOT NULL,
	"source" text DEFAULT 'catalog' NOT NULL,
	"is_archived" boolean DEFAULT false NOT NULL,
	"amount_type" text NOT NULL,
	"price_currency" text NOT NULL,
	"tax_behavior" text,
	"price_amount" integer,
	"minimum_amount" integer,
	"maximum_amount" integer,
	"preset_amount" integer,
	"unit_amount" text,
	"cap_amount" integer,
	"meter_id" uuid,
	"seat_tiers" jsonb,
	CONSTRAINT "product_prices_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "product_sellers" (
	"product_id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "products" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"name" text NOT NULL,
	"description" text,
	"visibility" text DEFAULT 'public' NOT NULL,
	"recurring_interval" text,
	"recurring_interval_count" integer,
	"trial_interval" text,
	"trial_interval_count" integer,
	"meter_interval" text,
	"meter_interval_count" integer,
	"is_archived" boolean DEFAULT false NOT NULL,
	"sort_amount_type" text,
	"sort_amount" integer,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "products_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "refunds" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text DEFAULT 'pending' NOT NULL,
	"origin" text NOT NULL,
	"is_surplus" boolean DEFAULT false NOT NULL,
	"reason" text NOT NULL,
	"amount" integer NOT NULL,
	"tax_amount" integer NOT NULL,
	"currency" text NOT NULL,
	"order_id" uuid NOT NULL,
	"customer_id" uuid NOT NULL,
	"payment_id" uuid NOT NULL,
	"revoke_benefits" boolean DEFAULT false NOT NULL,
	"comment" text,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"balance_amount" integer DEFAULT 0 NOT NULL,
	"processor_id" text,
	"failure_reason" text,
	"is_announced" boolean DEFAULT false NOT NULL,
	"due_at" timestamp with time zone,
	CONSTRAINT "refunds_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "snapshot_files" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"snapshot_id" uuid,
	"path" text NOT NULL,
	CONSTRAINT "snapshot_files_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "snapshot_rows" (
	"organization_id" text NOT NULL,
	"snapshot_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"place" integer NOT NULL,
	"texts" text[] NOT NULL,
	"document_1" jsonb,
	"document_2" jsonb,
	"document_3" jsonb,
	"document_4" jsonb,
	"document_5" jsonb,
	"document_6" jsonb,
	"document_7" jsonb,
	"document_8" jsonb,
	"document_9" jsonb,
	"document_10" jsonb,
	"document_11" jsonb,
	"document_12" jsonb,
	CONSTRAINT "snapshot_rows_pkey" PRIMARY KEY("organization_id","snapshot_id","kind","place")
);
--> statement-breakpoint
CREATE TABLE "snapshots" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"name" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"saved_at" timestamp with time zone NOT NULL,
	"rows" integer NOT NULL,
	"columns" jsonb NOT NULL,
	"settings" jsonb NOT NULL,
	CONSTRAINT "snapshots_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "customer_seats" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"subscription_id" uuid,
	"order_id" uuid,
	"status" text NOT NULL,
	"customer_id" uuid,
	"member_id" uuid,
	"email" text,
	"token_hash" text,
	"token" text,
	"invitation_token_expires_at" timestamp with time zone,
	"claimed_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"seat_metadata" jsonb,
	"mail_due_at" timestamp with time zone,
	CONSTRAINT "customer_seats_pkey" PRIMARY KEY("organization_id","id"),
	CONSTRAINT "customer_seats_of_one" CHECK (num_nonnulls("customer_seats"."subscription_id", "customer_seats"."order_id") <= 1)
);
--> statement-breakpoint
CREATE TABLE "subscription_entries" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"subscription_id" uuid NOT NULL,
	"line" jsonb NOT NULL,
	"order_id" uuid,
	CONSTRAINT "subscription_entries_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "subscription_letters" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"subscription_id" uuid NOT NULL,
	"kind" text NOT NULL,
	"order_id" uuid,
	"due_at" timestamp with time zone NOT NULL,
	CONSTRAINT "subscription_letters_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "subscription_prices" (
	"organization_id" text NOT NULL,
	"subscription_id" uuid NOT NULL,
	"product_price_id" uuid NOT NULL,
	"amount" integer NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "subscription_prices_pkey" PRIMARY KEY("organization_id","subscription_id","product_price_id")
);
--> statement-breakpoint
CREATE TABLE "subscriptions" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"status" text NOT NULL,
	"amount" integer NOT NULL,
	"currency" text NOT NULL,
	"recurring_interval" text NOT NULL,
	"recurring_interval_count" integer NOT NULL,
	"anchor_day" integer NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"current_period_start" timestamp with time zone NOT NULL,
	"current_period_end" timestamp with time zone NOT NULL,
	"current_meter_period_start" timestamp with time zone,
	"current_meter_period_end" timestamp with time zone,
	"trial_start" timestamp with time zone,
	"trial_end" timestamp with time zone,
	"trial_email_key" text,
	"cancel_at_period_end" boolean DEFAULT false NOT NULL,
	"canceled_at" timestamp with time zone,
	"ends_at" timestamp with time zone,
	"ended_at" timestamp with time zone,
	"past_due_at" timestamp with time zone,
	"pause_at_period_end" boolean DEFAULT false NOT NULL,
	"paused_at" timestamp with time zone,
	"resumes_at" timestamp with time zone,
	"pending_update" jsonb,
	"due_at" timestamp with time zone,
	"reminder_due_at" timestamp with time zone,
	"change_order_id" uuid,
	"card_due_at" timestamp with time zone,
	"payment_method_id" uuid,
	"customer_id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"discount_id" uuid,
	"discount_applied_at" timestamp with time zone,
	"period_discount" jsonb,
	"checkout_id" uuid,
	"seats" integer,
	"customer_cancellation_reason" text,
	"customer_cancellation_comment" text,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"custom_field_data" jsonb DEFAULT '{}'::jsonb NOT NULL,
	CONSTRAINT "subscriptions_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "trial_claims" (
	"organization_id" text NOT NULL,
	"claim" text NOT NULL,
	"checkout_id" uuid NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	CONSTRAINT "trial_claims_pkey" PRIMARY KEY("organization_id","claim")
);
--> statement-breakpoint
CREATE TABLE "tax_reports" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"kind" text NOT NULL,
	"order_id" uuid NOT NULL,
	"refund_id" uuid,
	"dispute_id" uuid,
	"calculation_id" text,
	"amount" integer NOT NULL,
	"tax_amount" integer NOT NULL,
	"processor_id" text,
	"line_id" text,
	"due_at" timestamp with time zone,
	CONSTRAINT "tax_reports_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "tax_registrations" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"country" text NOT NULL,
	"state" text,
	"scheme" text NOT NULL,
	"tax_id" text,
	"rate" text,
	"starts_at" timestamp with time zone NOT NULL,
	"ends_at" timestamp with time zone,
	CONSTRAINT "tax_registrations_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"webhook_event_id" uuid NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"succeeded" boolean NOT NULL,
	"http_code" integer,
	"response" text,
	CONSTRAINT "webhook_deliveries_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_endpoints" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"url" text NOT NULL,
	"name" text,
	"format" text NOT NULL,
	"secret" text NOT NULL,
	"events" jsonb NOT NULL,
	"enabled" boolean DEFAULT true NOT NULL,
	"generation" text NOT NULL,
	"release" integer NOT NULL,
	"api_version" text NOT NULL,
	"since_seq" bigint NOT NULL,
	CONSTRAINT "webhook_endpoints_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "webhook_events" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"endpoint_id" uuid NOT NULL,
	"event_id" uuid NOT NULL,
	"seq" bigint NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"type" text NOT NULL,
	"payload" text,
	"succeeded" boolean,
	"skipped" boolean DEFAULT false NOT NULL,
	"is_archived" boolean DEFAULT false NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"attempted_at" timestamp with time zone,
	"next_attempt_at" timestamp with time zone,
	"waits" boolean DEFAULT false NOT NULL,
	"last_http_code" integer,
	CONSTRAINT "webhook_events_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "account" ADD CONSTRAINT "account_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "apikey" ADD CONSTRAINT "apikey_createdBy_user_id_fk" FOREIGN KEY ("createdBy") REFERENCES "public"."user"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invitation" ADD CONSTRAINT "invitation_inviterId_user_id_fk" FOREIGN KEY ("inviterId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "member" ADD CONSTRAINT "member_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "member" ADD CONSTRAINT "member_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "organization_role" ADD CONSTRAINT "organization_role_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "session" ADD CONSTRAINT "session_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team" ADD CONSTRAINT "team_organizationId_organization_id_fk" FOREIGN KEY ("organizationId") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_teamId_team_id_fk" FOREIGN KEY ("teamId") REFERENCES "public"."team"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "team_member" ADD CONSTRAINT "team_member_userId_user_id_fk" FOREIGN KEY ("userId") REFERENCES "public"."user"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefits" ADD CONSTRAINT "benefits_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "catalog_entries" ADD CONSTRAINT "catalog_entries_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_link_products" ADD CONSTRAINT "checkout_link_products_checkout_link_id_fkey" FOREIGN KEY ("organization_id","checkout_link_id") REFERENCES "public"."checkout_links"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_link_products" ADD CONSTRAINT "checkout_link_products_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_link_secrets" ADD CONSTRAINT "checkout_link_secrets_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_links" ADD CONSTRAINT "checkout_links_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_links" ADD CONSTRAINT "checkout_links_discount_id_fkey" FOREIGN KEY ("organization_id","discount_id") REFERENCES "public"."discounts"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_product_price_id_fkey" FOREIGN KEY ("organization_id","product_price_id") REFERENCES "public"."product_prices"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_discount_id_fkey" FOREIGN KEY ("organization_id","discount_id") REFERENCES "public"."discounts"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkouts" ADD CONSTRAINT "checkouts_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "custom_fields" ADD CONSTRAINT "custom_fields_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_account_requests" ADD CONSTRAINT "customer_account_requests_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_account_requests" ADD CONSTRAINT "customer_account_requests_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_account_requests" ADD CONSTRAINT "customer_account_requests_session_id_fkey" FOREIGN KEY ("organization_id","session_id") REFERENCES "public"."customer_sessions"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_accounts" ADD CONSTRAINT "customer_accounts_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_accounts" ADD CONSTRAINT "customer_accounts_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_accounts" ADD CONSTRAINT "customer_accounts_member_id_fkey" FOREIGN KEY ("organization_id","member_id") REFERENCES "public"."members"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_sessions" ADD CONSTRAINT "customer_sessions_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_sessions" ADD CONSTRAINT "customer_sessions_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_sessions" ADD CONSTRAINT "customer_sessions_member_id_fkey" FOREIGN KEY ("organization_id","member_id") REFERENCES "public"."members"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_state_notices" ADD CONSTRAINT "customer_state_notices_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customers" ADD CONSTRAINT "customers_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_products" ADD CONSTRAINT "discount_products_discount_id_fkey" FOREIGN KEY ("organization_id","discount_id") REFERENCES "public"."discounts"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_products" ADD CONSTRAINT "discount_products_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_redemptions" ADD CONSTRAINT "discount_redemptions_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_redemptions" ADD CONSTRAINT "discount_redemptions_discount_id_fkey" FOREIGN KEY ("organization_id","discount_id") REFERENCES "public"."discounts"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_redemptions" ADD CONSTRAINT "discount_redemptions_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discounts" ADD CONSTRAINT "discounts_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "disputes" ADD CONSTRAINT "disputes_payment_id_fkey" FOREIGN KEY ("organization_id","payment_id") REFERENCES "public"."payments"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "downloadables" ADD CONSTRAINT "downloadables_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "downloadables" ADD CONSTRAINT "downloadables_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "downloadables" ADD CONSTRAINT "downloadables_benefit_id_fkey" FOREIGN KEY ("organization_id","benefit_id") REFERENCES "public"."benefits"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "downloadables" ADD CONSTRAINT "downloadables_file_id_fkey" FOREIGN KEY ("organization_id","file_id") REFERENCES "public"."files"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_names" ADD CONSTRAINT "usage_names_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "usage_waiting" ADD CONSTRAINT "usage_waiting_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_member_id_fkey" FOREIGN KEY ("organization_id","member_id") REFERENCES "public"."members"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_benefit_id_fkey" FOREIGN KEY ("organization_id","benefit_id") REFERENCES "public"."benefits"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "benefit_grants" ADD CONSTRAINT "benefit_grants_access_id_fkey" FOREIGN KEY ("organization_id","access_id") REFERENCES "public"."grant_accesses"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_accesses" ADD CONSTRAINT "grant_accesses_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_accesses" ADD CONSTRAINT "grant_accesses_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_checks" ADD CONSTRAINT "grant_checks_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_checks" ADD CONSTRAINT "grant_checks_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_checks" ADD CONSTRAINT "grant_checks_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_runs" ADD CONSTRAINT "grant_runs_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_runs" ADD CONSTRAINT "grant_runs_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "grant_runs" ADD CONSTRAINT "grant_runs_benefit_id_fkey" FOREIGN KEY ("organization_id","benefit_id") REFERENCES "public"."benefits"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "document_counters" ADD CONSTRAINT "document_counters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_export_orders" ADD CONSTRAINT "invoice_export_orders_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_export_orders" ADD CONSTRAINT "invoice_export_orders_export_id_fkey" FOREIGN KEY ("organization_id","export_id") REFERENCES "public"."invoice_exports"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_export_orders" ADD CONSTRAINT "invoice_export_orders_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_exports" ADD CONSTRAINT "invoice_exports_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoices" ADD CONSTRAINT "invoices_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoices" ADD CONSTRAINT "invoices_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoices" ADD CONSTRAINT "invoices_refund_id_fkey" FOREIGN KEY ("organization_id","refund_id") REFERENCES "public"."refunds"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoices" ADD CONSTRAINT "invoices_file_id_fkey" FOREIGN KEY ("organization_id","file_id") REFERENCES "public"."files"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "events" ADD CONSTRAINT "events_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "list_tallies" ADD CONSTRAINT "list_tallies_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "mails" ADD CONSTRAINT "mails_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "lease_keys" ADD CONSTRAINT "lease_keys_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_key_activations" ADD CONSTRAINT "license_key_activations_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_key_activations" ADD CONSTRAINT "license_key_activations_license_key_id_fkey" FOREIGN KEY ("organization_id","license_key_id") REFERENCES "public"."license_keys"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_keys" ADD CONSTRAINT "license_keys_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_keys" ADD CONSTRAINT "license_keys_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_keys" ADD CONSTRAINT "license_keys_member_id_fkey" FOREIGN KEY ("organization_id","member_id") REFERENCES "public"."members"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_keys" ADD CONSTRAINT "license_keys_benefit_id_fkey" FOREIGN KEY ("organization_id","benefit_id") REFERENCES "public"."benefits"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "license_keys" ADD CONSTRAINT "license_keys_grant_id_fkey" FOREIGN KEY ("organization_id","grant_id") REFERENCES "public"."benefit_grants"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "members" ADD CONSTRAINT "members_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meter_lots" ADD CONSTRAINT "customer_meter_lots_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meter_lots" ADD CONSTRAINT "customer_meter_lots_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meter_lots" ADD CONSTRAINT "customer_meter_lots_meter_id_fkey" FOREIGN KEY ("organization_id","meter_id") REFERENCES "public"."meters"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD CONSTRAINT "customer_meter_windows_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD CONSTRAINT "customer_meter_windows_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meter_windows" ADD CONSTRAINT "customer_meter_windows_meter_id_fkey" FOREIGN KEY ("organization_id","meter_id") REFERENCES "public"."meters"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meters" ADD CONSTRAINT "customer_meters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meters" ADD CONSTRAINT "customer_meters_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_meters" ADD CONSTRAINT "customer_meters_meter_id_fkey" FOREIGN KEY ("organization_id","meter_id") REFERENCES "public"."meters"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "meters" ADD CONSTRAINT "meters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "metric_tallies" ADD CONSTRAINT "metric_tallies_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_balances" ADD CONSTRAINT "customer_balances_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_balances" ADD CONSTRAINT "customer_balances_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "invoice_counters" ADD CONSTRAINT "invoice_counters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "order_confirmations" ADD CONSTRAINT "order_confirmations_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "order_confirmations" ADD CONSTRAINT "order_confirmations_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "order_items" ADD CONSTRAINT "order_items_product_price_id_fkey" FOREIGN KEY ("organization_id","product_price_id") REFERENCES "public"."product_prices"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_discount_id_fkey" FOREIGN KEY ("organization_id","discount_id") REFERENCES "public"."discounts"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "orders" ADD CONSTRAINT "orders_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receipt_counters" ADD CONSTRAINT "receipt_counters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "receipt_counters" ADD CONSTRAINT "receipt_counters_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_customers" ADD CONSTRAINT "payment_customers_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_customers" ADD CONSTRAINT "payment_customers_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_methods" ADD CONSTRAINT "payment_methods_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_methods" ADD CONSTRAINT "payment_methods_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_setups" ADD CONSTRAINT "payment_setups_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_setups" ADD CONSTRAINT "payment_setups_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_setups" ADD CONSTRAINT "payment_setups_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_setups" ADD CONSTRAINT "payment_setups_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payment_setups" ADD CONSTRAINT "payment_setups_payment_method_id_fkey" FOREIGN KEY ("organization_id","payment_method_id") REFERENCES "public"."payment_methods"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "payments" ADD CONSTRAINT "payments_payment_method_id_fkey" FOREIGN KEY ("organization_id","payment_method_id") REFERENCES "public"."payment_methods"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal_codes" ADD CONSTRAINT "portal_codes_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal_codes" ADD CONSTRAINT "portal_codes_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "portal_codes" ADD CONSTRAINT "portal_codes_member_id_fkey" FOREIGN KEY ("organization_id","member_id") REFERENCES "public"."members"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_erasures" ADD CONSTRAINT "customer_erasures_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_erasures" ADD CONSTRAINT "customer_erasures_id_fkey" FOREIGN KEY ("organization_id","id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_benefits" ADD CONSTRAINT "product_benefits_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_benefits" ADD CONSTRAINT "product_benefits_benefit_id_fkey" FOREIGN KEY ("organization_id","benefit_id") REFERENCES "public"."benefits"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_custom_fields" ADD CONSTRAINT "product_custom_fields_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_custom_fields" ADD CONSTRAINT "product_custom_fields_custom_field_id_fkey" FOREIGN KEY ("organization_id","custom_field_id") REFERENCES "public"."custom_fields"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_medias" ADD CONSTRAINT "product_medias_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_medias" ADD CONSTRAINT "product_medias_file_id_fkey" FOREIGN KEY ("organization_id","file_id") REFERENCES "public"."files"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_prices" ADD CONSTRAINT "product_prices_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_prices" ADD CONSTRAINT "product_prices_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_prices" ADD CONSTRAINT "product_prices_meter_id_fkey" FOREIGN KEY ("organization_id","meter_id") REFERENCES "public"."meters"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_sellers" ADD CONSTRAINT "product_sellers_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "products" ADD CONSTRAINT "products_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "refunds" ADD CONSTRAINT "refunds_payment_id_fkey" FOREIGN KEY ("organization_id","payment_id") REFERENCES "public"."payments"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "snapshot_rows" ADD CONSTRAINT "snapshot_rows_snapshot_id_fkey" FOREIGN KEY ("organization_id","snapshot_id") REFERENCES "public"."snapshots"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "snapshots" ADD CONSTRAINT "snapshots_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_seats" ADD CONSTRAINT "customer_seats_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_seats" ADD CONSTRAINT "customer_seats_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_seats" ADD CONSTRAINT "customer_seats_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_seats" ADD CONSTRAINT "customer_seats_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "customer_seats" ADD CONSTRAINT "customer_seats_member_id_fkey" FOREIGN KEY ("organization_id","member_id") REFERENCES "public"."members"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_entries" ADD CONSTRAINT "subscription_entries_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_entries" ADD CONSTRAINT "subscription_entries_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_letters" ADD CONSTRAINT "subscription_letters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_letters" ADD CONSTRAINT "subscription_letters_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_prices" ADD CONSTRAINT "subscription_prices_subscription_id_fkey" FOREIGN KEY ("organization_id","subscription_id") REFERENCES "public"."subscriptions"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscription_prices" ADD CONSTRAINT "subscription_prices_product_price_id_fkey" FOREIGN KEY ("organization_id","product_price_id") REFERENCES "public"."product_prices"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_customer_id_fkey" FOREIGN KEY ("organization_id","customer_id") REFERENCES "public"."customers"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_product_id_fkey" FOREIGN KEY ("organization_id","product_id") REFERENCES "public"."products"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_discount_id_fkey" FOREIGN KEY ("organization_id","discount_id") REFERENCES "public"."discounts"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "trial_claims" ADD CONSTRAINT "trial_claims_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tax_reports" ADD CONSTRAINT "tax_reports_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tax_reports" ADD CONSTRAINT "tax_reports_order_id_fkey" FOREIGN KEY ("organization_id","order_id") REFERENCES "public"."orders"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tax_reports" ADD CONSTRAINT "tax_reports_refund_id_fkey" FOREIGN KEY ("organization_id","refund_id") REFERENCES "public"."refunds"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tax_reports" ADD CONSTRAINT "tax_reports_dispute_id_fkey" FOREIGN KEY ("organization_id","dispute_id") REFERENCES "public"."disputes"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "tax_registrations" ADD CONSTRAINT "tax_registrations_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_endpoint_id_fkey" FOREIGN KEY ("organization_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_event_id_fkey" FOREIGN KEY ("organization_id","webhook_event_id") REFERENCES "public"."webhook_events"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_endpoints" ADD CONSTRAINT "webhook_endpoints_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_events" ADD CONSTRAINT "webhook_events_endpoint_id_fkey" FOREIGN KEY ("organization_id","endpoint_id") REFERENCES "public"."webhook_endpoints"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_events" ADD CONSTRAINT "webhook_events_event_id_fkey" FOREIGN KEY ("organization_id","event_id") REFERENCES "public"."events"("organization_id","id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX "account_provider" ON "account" USING btree ("providerId","accountId");--> statement-breakpoint
CREATE INDEX "account_user" ON "account" USING btree ("userId");--> statement-breakpoint
CREATE INDEX "apikey_organization" ON "apikey" USING btree ("organizationId");--> statement-breakpoint
CREATE INDEX "apikey_user" ON "apikey" USING btree ("userId");--> statement-breakpoint
CREATE INDEX "attempts_age" ON "attempts" USING btree ("window_ends_at");--> statement-breakpoint
CREATE INDEX "device_code_age" ON "device_code" USING btree ("expiresAt");--> statement-breakpoint
CREATE INDEX "invitation_organization" ON "invitation" USING btree ("organizationId");--> statement-breakpoint
CREATE INDEX "invitation_email" ON "invitation" USING btree (lower("email"));--> statement-breakpoint
CREATE UNIQUE INDEX "member_once" ON "member" USING btree ("organizationId","userId");--> statement-breakpoint
CREATE INDEX "member_user" ON "member" USING btree ("userId");--> statement-breakpoint
CREATE UNIQUE INDEX "organization_role_once" ON "organization_role" USING btree ("organizationId","role");--> statement-breakpoint
CREATE INDEX "session_user" ON "session" USING btree ("userId");--> statement-breakpoint
CREATE INDEX "session_age" ON "session" USING btree ("expiresAt");--> statement-breakpoint
CREATE INDEX "team_organization" ON "team" USING btree ("organizationId");--> statement-breakpoint
CREATE UNIQUE INDEX "team_member_once" ON "team_member" USING btree ("teamId","userId");--> statement-breakpoint
CREATE INDEX "team_member_user" ON "team_member" USING btree ("userId");--> statement-breakpoint
CREATE INDEX "user_guests" ON "user" USING btree ("createdAt") WHERE "user"."isAnonymous";--> statement-breakpoint
CREATE INDEX "verification_identifier" ON "verification" USING btree ("identifier");--> statement-breakpoint
CREATE INDEX "verification_age" ON "verification" USING btree ("expiresAt");--> statement-breakpoint
CREATE INDEX "benefits_by_creation" ON "benefits" USING btree ("organization_id","created_at","id") WHERE "benefits"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "benefits_by_description" ON "benefits" USING btree ("organization_id","description","id") WHERE "benefits"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "benefits_by_type" ON "benefits" USING btree ("organization_id","type","id") WHERE "benefits"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "benefits_part" ON "benefits" USING gin ("description" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "benefits_metadata" ON "benefits" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "catalog_entries_subject" ON "catalog_entries" USING btree ("organization_id","kind","subject_id");--> statement-breakpoint
CREATE INDEX "checkout_link_products_of_product" ON "checkout_link_products" USING btree ("organization_id","product_id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_creation" ON "checkout_links" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_label" ON "checkout_links" USING btree ("organization_id","label","id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_codes" ON "checkout_links" USING btree ("organization_id","allow_discount_codes","id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_success_url" ON "checkout_links" USING btree ("organization_id",left("success_url", 600),"id");--> statement-breakpoint
CREATE INDEX "checkouts_by_creation" ON "checkouts" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "checkouts_by_expiry" ON "checkouts" USING btree ("organization_id","expires_at","id");--> statement-breakpoint
CREATE INDEX "checkouts_by_status" ON "checkouts" USING btree ("organization_id","status","id");--> statement-breakpoint
CREATE INDEX "checkouts_by_product" ON "checkouts" USING btree ("organization_id","product_id","id");--> statement-breakpoint
CREATE INDEX "checkouts_part" ON "checkouts" USING gin ("customer_email" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "checkouts_by_customer" ON "checkouts" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "checkouts_of_order" ON "checkouts" USING btree ("organization_id","order_id") WHERE "checkouts"."order_id" is not null;--> statement-breakpoint
CREATE INDEX "checkouts_of_subscription" ON "checkouts" USING btree ("organization_id","subscription_id") WHERE "checkouts"."subscription_id" is not null;--> statement-breakpoint
CREATE INDEX "checkouts_by_external_customer" ON "checkouts" USING btree ("external_customer_id");--> statement-breakpoint
CREATE INDEX "checkouts_due" ON "checkouts" USING btree ("organization_id","expires_at") WHERE "checkouts"."status" = 'open';--> statement-breakpoint
CREATE UNIQUE INDEX "custom_fields_slug" ON "custom_fields" USING btree ("organization_id","slug") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_by_creation" ON "custom_fields" USING btree ("organization_id","created_at","id") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_by_name" ON "custom_fields" USING btree ("organization_id","name","id") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_by_type" ON "custom_fields" USING btree ("organization_id","type","id") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_moving" ON "custom_fields" USING btree ("organization_id","id") WHERE "custom_fields"."former_slugs" <> '[]';--> statement-breakpoint
CREATE INDEX "custom_fields_part" ON "custom_fields" USING gin ("name" gin_trgm_ops,"slug" gin_trgm_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "customer_account_requests_once" ON "customer_account_requests" USING btree ("organization_id","session_id","platform");--> statement-breakpoint
CREATE INDEX "customer_account_requests_by_customer" ON "customer_account_requests" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "customer_account_requests_by_state" ON "customer_account_requests" USING btree ("state_hash");--> statement-breakpoint
CREATE INDEX "customer_account_requests_by_end" ON "customer_account_requests" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "customer_accounts_of_customer" ON "customer_accounts" USING btree ("organization_id","customer_id","platform",coalesce("member_id", "customer_id"));--> statement-breakpoint
CREATE INDEX "customer_sessions_by_token" ON "customer_sessions" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "customer_sessions_by_customer" ON "customer_sessions" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "customer_sessions_by_end" ON "customer_sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE UNIQUE INDEX "customers_email" ON "customers" USING btree ("organization_id",lower("email")) WHERE "customers"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "customers_external_id" ON "customers" USING btree ("organization_id","external_id");--> statement-breakpoint
CREATE INDEX "customers_by_external_id" ON "customers" USING btree ("external_id");--> statement-breakpoint
CREATE INDEX "customers_by_creation" ON "customers" USING btree ("organization_id","created_at","id") WHERE "customers"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "customers_by_email" ON "customers" USING btree ("organization_id","email","id");--> statement-breakpoint
CREATE INDEX "customers_by_name" ON "customers" USING btree ("organization_id","name","id") WHERE "customers"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "customers_part" ON "customers" USING gin ("email" gin_trgm_ops,"name" gin_trgm_ops,"external_id" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "customer_state_notices_due" ON "customer_state_notices" USING btree ("organization_id","due_at");--> statement-breakpoint
CREATE INDEX "customers_metadata" ON "customers" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "discount_products_of_product" ON "discount_products" USING btree ("organization_id","product_id");--> statement-breakpoint
CREATE UNIQUE INDEX "discount_redemptions_of_checkout" ON "discount_redemptions" USING btree ("organization_id","checkout_id");--> statement-breakpoint
CREATE INDEX "discount_redemptions_by_customer" ON "discount_redemptions" USING btree ("organization_id","discount_id","customer_id");--> statement-breakpoint
CREATE INDEX "discount_redemptions_by_email" ON "discount_redemptions" USING btree ("organization_id","discount_id","email_key");--> statement-breakpoint
CREATE INDEX "discount_redemptions_by_card" ON "discount_redemptions" USING btree ("organization_id","discount_id","card");--> statement-breakpoint
CREATE INDEX "discount_redemptions_uncounted" ON "discount_redemptions" USING btree ("organization_id","discount_id") WHERE not "discount_redemptions"."is_counted";--> statement-breakpoint
CREATE UNIQUE INDEX "discounts_code" ON "discounts" USING btree ("organization_id",lower("code")) WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_creation" ON "discounts" USING btree ("organization_id","created_at","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_name" ON "discounts" USING btree ("organization_id","name","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_code" ON "discounts" USING btree ("organization_id","code","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_redemptions" ON "discounts" USING btree ("organization_id","redemptions_count","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_end" ON "discounts" USING btree ("organization_id","ends_at","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_part" ON "discounts" USING gin ("name" gin_trgm_ops,"code" gin_trgm_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "disputes_at_processor" ON "disputes" USING btree ("organization_id","processor_id");--> statement-breakpoint
CREATE INDEX "disputes_by_creation" ON "disputes" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "disputes_by_order" ON "disputes" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "disputes_by_payment" ON "disputes" USING btree ("organization_id","payment_id");--> statement-breakpoint
CREATE INDEX "disputes_due" ON "disputes" USING btree ("organization_id","due_at") WHERE "disputes"."due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "downloadables_once" ON "downloadables" USING btree ("organization_id","customer_id","benefit_id","file_id");--> statement-breakpoint
CREATE INDEX "downloadables_by_file" ON "downloadables" USING btree ("organization_id","file_id");--> statement-breakpoint
CREATE INDEX "usage_events_by_time" ON "usage_events" USING btree ("organization_id","timestamp","id");--> statement-breakpoint
CREATE INDEX "usage_events_of_customer" ON "usage_events" USING btree ("organization_id","customer_id","timestamp","id") WHERE "usage_events"."customer_id" is not null;--> statement-breakpoint
CREATE INDEX "usage_events_waiting" ON "usage_events" USING btree ("organization_id","external_customer_id","timestamp","id") WHERE "usage_events"."customer_id" is null;--> statement-breakpoint
CREATE INDEX "usage_events_by_name" ON "usage_events" USING btree ("organization_id","name","timestamp","id");--> statement-breakpoint
CREATE INDEX "usage_events_of_parent" ON "usage_events" USING btree ("organization_id","parent_id","timestamp","id") WHERE "usage_events"."parent_id" is not null;--> statement-breakpoint
CREATE INDEX "usage_events_of_system" ON "usage_events" USING btree ("organization_id","timestamp","id") WHERE "usage_events"."source" = 'system';--> statement-breakpoint
CREATE INDEX "usage_events_metadata" ON "usage_events" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "usage_waiting_once" ON "usage_waiting" USING btree ("organization_id","external_customer_id");--> statement-breakpoint
CREATE INDEX "usage_waiting_due" ON "usage_waiting" USING btree ("organization_id","due_at") WHERE "usage_waiting"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "files_by_creation" ON "files" USING btree ("organization_id","created_at","id") WHERE "files"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "files_unfinished" ON "files" USING btree ("organization_id","created_at") WHERE "files"."deleted_at" is null and not "files"."is_uploaded";--> statement-breakpoint
CREATE INDEX "files_to_purge" ON "files" USING btree ("organization_id","deleted_at") WHERE "files"."deleted_at" is not null and "files"."purged_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "benefit_grants_of_subscription" ON "benefit_grants" USING btree ("organization_id","subscription_id","benefit_id","customer_id",coalesce("member_id", "customer_id")) WHERE "benefit_grants"."subscription_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "benefit_grants_of_order" ON "benefit_grants" USING btree ("organization_id","order_id","benefit_id","customer_id",coalesce("member_id", "customer_id")) WHERE "benefit_grants"."order_id" is not null;--> statement-breakpoint
CREATE INDEX "benefit_grants_by_customer" ON "benefit_grants" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "benefit_grants_by_benefit" ON "benefit_grants" USING btree ("organization_id","benefit_id","created_at","id");--> statement-breakpoint
CREATE INDEX "benefit_grants_by_creation" ON "benefit_grants" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "benefit_grants_by_grant" ON "benefit_grants" USING btree ("organization_id","granted_at","id");--> statement-breakpoint
CREATE INDEX "benefit_grants_by_revocation" ON "benefit_grants" USING btree ("organization_id","revoked_at","id");--> statement-breakpoint
CREATE INDEX "benefit_grants_by_access" ON "benefit_grants" USING btree ("organization_id","access_id") WHERE "benefit_grants"."access_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "grant_accesses_once" ON "grant_accesses" USING btree ("organization_id","platform","account_number","place","customer_id");--> statement-breakpoint
CREATE INDEX "grant_accesses_by_customer" ON "grant_accesses" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "grant_accesses_due" ON "grant_accesses" USING btree ("organization_id","due_at") WHERE "grant_accesses"."due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "grant_checks_of_subscription" ON "grant_checks" USING btree ("organization_id","subscription_id");--> statement-breakpoint
CREATE UNIQUE INDEX "grant_checks_of_order" ON "grant_checks" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "grant_checks_due" ON "grant_checks" USING btree ("organization_id","due_at");--> statement-breakpoint
CREATE INDEX "grant_runs_by_creation" ON "grant_runs" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "grant_runs_due" ON "grant_runs" USING btree ("organization_id","due_at") WHERE "grant_runs"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "invoice_exports_due" ON "invoice_exports" USING btree ("organization_id","due_at") WHERE "invoice_exports"."due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "invoices_number" ON "invoices" USING btree ("organization_id","number","kind");--> statement-breakpoint
CREATE UNIQUE INDEX "invoices_of_order" ON "invoices" USING btree ("organization_id","order_id","kind") WHERE "invoices"."refund_id" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "invoices_of_refund" ON "invoices" USING btree ("organization_id","refund_id");--> statement-breakpoint
CREATE INDEX "invoices_by_order" ON "invoices" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "invoices_due" ON "invoices" USING btree ("organization_id","due_at") WHERE "invoices"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "audit_log_organization" ON "audit_log" USING btree ("organization_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_user" ON "audit_log" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "audit_log_subject" ON "audit_log" USING btree ("subject_id","id");--> statement-breakpoint
CREATE INDEX "events_tail" ON "events" USING btree ("organization_id","xid","seq");--> statement-breakpoint
CREATE INDEX "events_undispatched" ON "events" USING btree ("organization_id","seq") WHERE "events"."dispatched_at" is null;--> statement-breakpoint
CREATE INDEX "events_of_checkout" ON "events" USING btree ("organization_id",("data" ->> 'id')) WHERE "events"."type" = 'checkout.updated';--> statement-breakpoint
CREATE INDEX "failed_work_dead" ON "failed_work" USING btree ("kind") WHERE "failed_work"."retry_at" is null;--> statement-breakpoint
CREATE INDEX "idempotency_keys_age" ON "idempotency_keys" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mails_age" ON "mails" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "mails_of_sandbox" ON "mails" USING btree ("organization_id","created_at","id") WHERE "mails"."organization_id" is not null;--> statement-breakpoint
CREATE INDEX "mails_of_customer" ON "mails" USING btree ("customer_id") WHERE "mails"."customer_id" is not null;--> statement-breakpoint
CREATE INDEX "mails_due" ON "mails" USING btree ("next_attempt_at") WHERE "mails"."next_attempt_at" is not null;--> statement-breakpoint
CREATE INDEX "license_key_activations_live" ON "license_key_activations" USING btree ("organization_id","license_key_id") WHERE "license_key_activations"."deactivated_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "license_keys_once" ON "license_keys" USING btree ("organization_id","key_hash");--> statement-breakpoint
CREATE UNIQUE INDEX "license_keys_of_grant" ON "license_keys" USING btree ("organization_id","grant_id");--> statement-breakpoint
CREATE INDEX "license_keys_by_creation" ON "license_keys" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "license_keys_by_customer" ON "license_keys" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "license_keys_by_benefit" ON "license_keys" USING btree ("organization_id","benefit_id");--> statement-breakpoint
CREATE UNIQUE INDEX "members_email" ON "members" USING btree ("organization_id","customer_id",lower("email")) WHERE "members"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "members_external_id" ON "members" USING btree ("organization_id","customer_id","external_id") WHERE "members"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "members_one_owner" ON "members" USING btree ("organization_id","customer_id") WHERE "members"."role" = 'owner' and "members"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "members_by_creation" ON "members" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "members_of_customer" ON "members" USING btree ("organization_id","customer_id","created_at","id");--> statement-breakpoint
CREATE INDEX "members_by_email" ON "members" USING btree ("organization_id",lower("email"));--> statement-breakpoint
CREATE INDEX "customer_meter_lots_open" ON "customer_meter_lots" USING btree ("organization_id","customer_id","meter_id") WHERE "customer_meter_lots"."closed_at" is null;--> statement-breakpoint
CREATE INDEX "customer_meter_windows_of_customer" ON "customer_meter_windows" USING btree ("organization_id","customer_id","meter_id","ended_at");--> statement-breakpoint
CREATE INDEX "customer_meter_windows_open" ON "customer_meter_windows" USING btree ("organization_id","payer_id","ended_at") WHERE "customer_meter_windows"."is_open";--> statement-breakpoint
CREATE UNIQUE INDEX "customer_meters_once" ON "customer_meters" USING btree ("organization_id","customer_id","meter_id");--> statement-breakpoint
CREATE INDEX "customer_meters_of_meter" ON "customer_meters" USING btree ("organization_id","meter_id");--> statement-breakpoint
CREATE INDEX "customer_meters_due" ON "customer_meters" USING btree ("organization_id","due_at") WHERE "customer_meters"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "customer_meters_to_tell" ON "customer_meters" USING btree ("organization_id","notice_at") WHERE "customer_meters"."notice_at" is not null;--> statement-breakpoint
CREATE INDEX "customer_meters_of_payer" ON "customer_meters" USING btree ("organization_id","payer_id") WHERE "customer_meters"."payer_id" is not null;--> statement-breakpoint
CREATE INDEX "meters_to_recount" ON "meters" USING btree ("organization_id","recount_at") WHERE "meters"."recount_at" is not null;--> statement-breakpoint
CREATE INDEX "meters_by_name" ON "meters" USING btree ("organization_id","name","id");--> statement-breakpoint
CREATE INDEX "meters_by_creation" ON "meters" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "meters_name_part" ON "meters" USING gin ("name" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "meters_metadata" ON "meters" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "metric_tallies_by_time" ON "metric_tallies" USING btree ("organization_id","seconds","product_id","at");--> statement-breakpoint
CREATE INDEX "metric_tallies_loose" ON "metric_tallies" USING btree ("organization_id") WHERE "metric_tallies"."seconds" = 0;--> statement-breakpoint
CREATE INDEX "order_confirmations_due" ON "order_confirmations" USING btree ("organization_id","due_at");--> statement-breakpoint
CREATE INDEX "order_items_by_order" ON "order_items" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE UNIQUE INDEX "orders_invoice" ON "orders" USING btree ("organization_id","invoice_number");--> statement-breakpoint
CREATE UNIQUE INDEX "orders_of_checkout" ON "orders" USING btree ("organization_id","checkout_id") WHERE "orders"."checkout_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "orders_of_period" ON "orders" USING btree ("organization_id","subscription_id","period_start") WHERE "orders"."status" <> 'void';--> statement-breakpoint
CREATE INDEX "orders_by_creation" ON "orders" USING btree ("organization_id","created_at","id") WHERE "orders"."invoice_number" is not null;--> statement-breakpoint
CREATE INDEX "orders_by_status" ON "orders" USING btree ("organization_id","status","id") WHERE "orders"."invoice_number" is not null;--> statement-breakpoint
CREATE INDEX "orders_by_amount" ON "orders" USING btree ("organization_id",(("subtotal_amount" - "discount_amount") + "tax_amount" - (case when "tax_behavior" = 'inclusive' then "tax_amount" else 0 end)),"id") WHERE "orders"."invoice_number" is not null;--> statement-breakpoint
CREATE INDEX "orders_by_net_amount" ON "orders" USING btree ("organization_id",(("subtotal_amount" - "discount_amount") - (case when "tax_behavior" = 'inclusive' then "tax_amount" else 0 end)),"id") WHERE "orders"."invoice_number" is not null;--> statement-breakpoint
CREATE INDEX "orders_by_customer" ON "orders" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "orders_by_product" ON "orders" USING btree ("organization_id","product_id","id");--> statement-breakpoint
CREATE INDEX "orders_by_discount" ON "orders" USING btree ("organization_id","discount_id","id") WHERE "orders"."discount_id" is not null;--> statement-breakpoint
CREATE INDEX "orders_by_subscription" ON "orders" USING btree ("organization_id","subscription_id","id");--> statement-breakpoint
CREATE INDEX "orders_metadata" ON "orders" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "orders_by_gap" ON "orders" USING btree ("organization_id",("paid_at" - "preceded_at")) WHERE "orders"."preceded_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "orders_receipt" ON "orders" USING btree ("organization_id","receipt_number") WHERE "orders"."receipt_number" is not null;--> statement-breakpoint
CREATE INDEX "orders_settle_due" ON "orders" USING btree ("organization_id","settle_due_at") WHERE "orders"."settle_due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "organization_slug" ON "organization" USING btree (lower("slug"));--> statement-breakpoint
CREATE INDEX "payment_methods_expiring" ON "payment_methods" USING btree ("organization_id","expiry_due_at") WHERE "payment_methods"."expiry_due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "payment_methods_of_card" ON "payment_methods" USING btree ("organization_id","customer_id","account","fingerprint") WHERE "payment_methods"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "payment_methods_by_customer" ON "payment_methods" USING btree ("organization_id","customer_id","created_at");--> statement-breakpoint
CREATE UNIQUE INDEX "payment_setups_of_subscription" ON "payment_setups" USING btree ("organization_id","subscription_id") WHERE "payment_setups"."status" = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "payment_setups_under_way" ON "payment_setups" USING btree ("organization_id","order_id") WHERE "payment_setups"."status" = 'pending';--> statement-breakpoint
CREATE INDEX "payment_setups_by_order" ON "payment_setups" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "payment_setups_by_customer" ON "payment_setups" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "payment_setups_by_fingerprint" ON "payment_setups" USING btree ("organization_id","fingerprint") WHERE "payment_setups"."fingerprint" is not null;--> statement-breakpoint
CREATE INDEX "payment_setups_due" ON "payment_setups" USING btree ("organization_id","reconcile_due_at") WHERE "payment_setups"."reconcile_due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "payments_under_way" ON "payments" USING btree ("organization_id","order_id") WHERE "payments"."status" = 'pending';--> statement-breakpoint
CREATE UNIQUE INDEX "payments_succeeded" ON "payments" USING btree ("organization_id","order_id") WHERE "payments"."status" = 'succeeded' and not "payments"."is_surplus";--> statement-breakpoint
CREATE INDEX "payments_by_creation" ON "payments" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "payments_by_status" ON "payments" USING btree ("organization_id","status","id");--> statement-breakpoint
CREATE INDEX "payments_by_amount" ON "payments" USING btree ("organization_id","amount","id");--> statement-breakpoint
CREATE INDEX "payments_by_kind" ON "payments" USING btree ("organization_id","method","id");--> statement-breakpoint
CREATE INDEX "payments_by_email" ON "payments" USING btree ("organization_id",lower("customer_email"));--> statement-breakpoint
CREATE INDEX "payments_by_order" ON "payments" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "payments_by_customer" ON "payments" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "payments_by_method" ON "payments" USING btree ("organization_id","payment_method_id") WHERE "payments"."payment_method_id" is not null;--> statement-breakpoint
CREATE INDEX "payments_by_fingerprint" ON "payments" USING btree ("organization_id","fingerprint") WHERE "payments"."fingerprint" is not null;--> statement-breakpoint
CREATE INDEX "payments_due" ON "payments" USING btree ("organization_id","reconcile_due_at") WHERE "payments"."reconcile_due_at" is not null;--> statement-breakpoint
CREATE INDEX "portal_codes_due" ON "portal_codes" USING btree ("organization_id","due_at") WHERE "portal_codes"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "portal_codes_by_hash" ON "portal_codes" USING btree ("code_hash");--> statement-breakpoint
CREATE INDEX "portal_codes_by_customer" ON "portal_codes" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "portal_codes_by_end" ON "portal_codes" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "customer_erasures_due" ON "customer_erasures" USING btree ("organization_id","due_at") WHERE "customer_erasures"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "test_disputes_by_intent" ON "test_disputes" USING btree ("intent_id");--> statement-breakpoint
CREATE INDEX "test_events_due" ON "test_events" USING btree ("organization_id","due_at");--> statement-breakpoint
CREATE INDEX "test_refunds_by_intent" ON "test_refunds" USING btree ("intent_id");--> statement-breakpoint
CREATE INDEX "product_benefits_of_benefit" ON "product_benefits" USING btree ("organization_id","benefit_id");--> statement-breakpoint
CREATE INDEX "product_custom_fields_of_field" ON "product_custom_fields" USING btree ("organization_id","custom_field_id");--> statement-breakpoint
CREATE INDEX "product_medias_of_file" ON "product_medias" USING btree ("organization_id","file_id");--> statement-breakpoint
CREATE INDEX "product_prices_of_product" ON "product_prices" USING btree ("organization_id","product_id","created_at","id");--> statement-breakpoint
CREATE INDEX "product_prices_of_meter" ON "product_prices" USING btree ("organization_id","meter_id") WHERE "product_prices"."meter_id" is not null;--> statement-breakpoint
CREATE INDEX "products_by_creation" ON "products" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "products_by_amount_type" ON "products" USING btree ("organization_id","sort_amount_type","id");--> statement-breakpoint
CREATE INDEX "products_by_amount" ON "products" USING btree ("organization_id","sort_amount","id");--> statement-breakpoint
CREATE INDEX "products_by_name" ON "products" USING btree ("organization_id","name","id");--> statement-breakpoint
CREATE INDEX "products_name_part" ON "products" USING gin ("name" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "products_metadata" ON "products" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "refunds_of_surplus" ON "refunds" USING btree ("organization_id","payment_id") WHERE "refunds"."origin" = 'surplus';--> statement-breakpoint
CREATE UNIQUE INDEX "refunds_at_processor" ON "refunds" USING btree ("organization_id","processor_id");--> statement-breakpoint
CREATE INDEX "refunds_by_creation" ON "refunds" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "refunds_by_order" ON "refunds" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "refunds_by_payment" ON "refunds" USING btree ("organization_id","payment_id");--> statement-breakpoint
CREATE INDEX "refunds_by_customer" ON "refunds" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "refunds_due" ON "refunds" USING btree ("organization_id","due_at") WHERE "refunds"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "snapshot_files_path" ON "snapshot_files" USING btree ("organization_id","path");--> statement-breakpoint
CREATE UNIQUE INDEX "snapshots_name" ON "snapshots" USING btree ("organization_id","name");--> statement-breakpoint
CREATE UNIQUE INDEX "customer_seats_once_of_subscription" ON "customer_seats" USING btree ("organization_id","subscription_id",coalesce("member_id", "customer_id")) WHERE "customer_seats"."status" <> 'revoked' and "customer_seats"."subscription_id" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "customer_seats_once_of_order" ON "customer_seats" USING btree ("organization_id","order_id",coalesce("member_id", "customer_id")) WHERE "customer_seats"."status" <> 'revoked' and "customer_seats"."order_id" is not null;--> statement-breakpoint
CREATE INDEX "customer_seats_by_member" ON "customer_seats" USING btree ("organization_id","member_id");--> statement-breakpoint
CREATE INDEX "customer_seats_by_customer" ON "customer_seats" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "customer_seats_by_subscription" ON "customer_seats" USING btree ("organization_id","subscription_id");--> statement-breakpoint
CREATE INDEX "customer_seats_by_order" ON "customer_seats" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "customer_seats_by_token" ON "customer_seats" USING btree ("token_hash") WHERE "customer_seats"."token_hash" is not null;--> statement-breakpoint
CREATE INDEX "customer_seats_due" ON "customer_seats" USING btree ("organization_id","mail_due_at") WHERE "customer_seats"."mail_due_at" is not null;--> statement-breakpoint
CREATE INDEX "subscription_entries_open" ON "subscription_entries" USING btree ("organization_id","subscription_id") WHERE "subscription_entries"."order_id" is null;--> statement-breakpoint
CREATE INDEX "subscription_entries_by_order" ON "subscription_entries" USING btree ("organization_id","order_id");--> statement-breakpoint
CREATE INDEX "subscription_letters_due" ON "subscription_letters" USING btree ("organization_id","due_at");--> statement-breakpoint
CREATE INDEX "subscription_letters_of_subscription" ON "subscription_letters" USING btree ("organization_id","subscription_id");--> statement-breakpoint
CREATE INDEX "subscription_prices_of_price" ON "subscription_prices" USING btree ("organization_id","product_price_id");--> statement-breakpoint
CREATE INDEX "subscriptions_due" ON "subscriptions" USING btree ("organization_id","due_at") WHERE "subscriptions"."due_at" is not null;--> statement-breakpoint
CREATE INDEX "subscriptions_reminder_due" ON "subscriptions" USING btree ("organization_id","reminder_due_at") WHERE "subscriptions"."reminder_due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "subscriptions_of_checkout" ON "subscriptions" USING btree ("organization_id","checkout_id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_start" ON "subscriptions" USING btree ("organization_id","started_at","id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_period" ON "subscriptions" USING btree ("organization_id","current_period_end","id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_customer" ON "subscriptions" USING btree ("organization_id","customer_id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_product" ON "subscriptions" USING btree ("organization_id","product_id");--> statement-breakpoint
CREATE INDEX "subscriptions_by_trial" ON "subscriptions" USING btree ("organization_id","trial_email_key") WHERE "subscriptions"."trial_email_key" is not null;--> statement-breakpoint
CREATE INDEX "subscriptions_with_seats" ON "subscriptions" USING btree ("organization_id") WHERE "subscriptions"."seats" is not null;--> statement-breakpoint
CREATE INDEX "subscriptions_by_end" ON "subscriptions" USING btree ("organization_id",coalesce("ended_at", "ends_at")) WHERE coalesce("subscriptions"."ended_at", "subscriptions"."ends_at") is not null;--> statement-breakpoint
CREATE INDEX "subscriptions_by_discount" ON "subscriptions" USING btree ("organization_id","discount_id");--> statement-breakpoint
CREATE INDEX "trial_claims_of_checkout" ON "trial_claims" USING btree ("organization_id","checkout_id");--> statement-breakpoint
CREATE UNIQUE INDEX "tax_reports_of_sale" ON "tax_reports" USING btree ("organization_id","order_id") WHERE "tax_reports"."kind" = 'sale';--> statement-breakpoint
CREATE UNIQUE INDEX "tax_reports_of_refund" ON "tax_reports" USING btree ("organization_id","refund_id","kind");--> statement-breakpoint
CREATE UNIQUE INDEX "tax_reports_of_dispute" ON "tax_reports" USING btree ("organization_id","dispute_id","kind");--> statement-breakpoint
CREATE INDEX "tax_reports_due" ON "tax_reports" USING btree ("organization_id","due_at") WHERE "tax_reports"."due_at" is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "tax_registrations_place" ON "tax_registrations" USING btree ("organization_id","country",coalesce("state", ''),"scheme");--> statement-breakpoint
CREATE INDEX "tax_registrations_by_creation" ON "tax_registrations" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_list" ON "webhook_deliveries" USING btree ("organization_id","created_at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_event" ON "webhook_deliveries" USING btree ("organization_id","webhook_event_id");--> statement-breakpoint
CREATE INDEX "webhook_endpoints_list" ON "webhook_endpoints" USING btree ("organization_id","created_at") WHERE "webhook_endpoints"."deleted_at" is null;--> statement-breakpoint
CREATE UNIQUE INDEX "webhook_events_once" ON "webhook_events" USING btree ("organization_id","event_id","endpoint_id");--> statement-breakpoint
CREATE INDEX "webhook_events_order" ON "webhook_events" USING btree ("organization_id","endpoint_id","seq");--> statement-breakpoint
CREATE INDEX "webhook_events_queue" ON "webhook_events" USING btree ("organization_id","endpoint_id","seq") WHERE "webhook_events"."attempted_at" is null and "webhook_events"."next_attempt_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_events_due" ON "webhook_events" USING btree ("organization_id","next_attempt_at") WHERE "webhook_events"."next_attempt_at" is not null;--> statement-breakpoint
CREATE INDEX "webhook_events_age" ON "webhook_events" USING btree ("organization_id","created_at") WHERE not "webhook_events"."is_archived";--> statement-breakpoint
-- An entry of the audit log stays as it was written. Only a foreign key may let go of an organization that is deleted.
CREATE FUNCTION "audit_log_append_only"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND pg_trigger_depth() > 1 THEN
    IF NEW."organization_id" IS NULL AND to_jsonb(NEW) - 'organization_id' = to_jsonb(OLD) - 'organization_id' THEN
      RETURN NEW;
    END IF;
  END IF;
  RAISE EXCEPTION 'The audit log can only be added to.';
END $$;
--> statement-breakpoint
CREATE TRIGGER "audit_log_append_only" BEFORE UPDATE OR DELETE ON "audit_log" FOR EACH ROW EXECUTE FUNCTION "audit_log_append_only"();
--> statement-breakpoint
CREATE TRIGGER "audit_log_never_emptied" BEFORE TRUNCATE ON "audit_log" FOR EACH STATEMENT EXECUTE FUNCTION "audit_log_append_only"();
--> statement-breakpoint
-- What the metrics count. These functions say what an order, a subscription and a checkout add to the sums, and when; triggers
-- note in metric_tallies what a change makes it more or less, so that whoever writes such a row keeps the sums right.
CREATE FUNCTION "metric_slot"("moment" timestamptz) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT date_bin('15 minutes', "moment", '2000-01-01T00:00:00Z')
$$;
--> statement-breakpoint
CREATE FUNCTION "order_facts"("o" "orders") RETURNS TABLE (at timestamptz, orders bigint, revenue bigint, net_revenue bigint, one_time bigint, one_time_revenue bigint, one_time_net_revenue bigint, opening bigint, opening_revenue bigint, opening_net_revenue bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT o.paid_at, 1, net, payout, once, once * net, once * payout, opening, opening * net, opening * payout
  FROM (SELECT o.subtotal_amount - o.discount_amount - CASE WHEN o.tax_behavior = 'inclusive' THEN o.tax_amount ELSE 0 END AS net) a
  CROSS JOIN LATERAL (SELECT net - o.platform_fee_amount - o.refunded_amount AS payout,
    (o.subscription_id IS NULL)::int AS once, (o.subscription_id IS NOT NULL AND o.preceded_at IS NULL)::int AS opening) b
  WHERE o.paid_at IS NOT NULL AND o.status IN ('paid', 'partially_refunded', 'refunded')
$$;
--> statement-breakpoint
-- A subscription counts from its start to its end, and is paid for from the end of its trial. What it makes in a month is
-- rounded for each one.
CREATE FUNCTION "subscription_facts"("s" "subscriptions") RETURNS TABLE (at timestamptz, started bigint, churned bigint, seats bigint, mrr bigint, trial_mrr bigint, canceled bigint, canceled_customer_service bigint, canceled_low_quality bigint, canceled_missing_features bigint, canceled_switched_service bigint, canceled_too_complex bigint, canceled_too_expensive bigint, canceled_unused bigint, canceled_other bigint) LANGUAGE sql IMMUTABLE AS $$
  WITH terms AS (
    SELECT s.started_at AS begin, coalesce(s.ended_at, s.ends_at) AS stop, greatest(s.started_at, s.trial_end) AS paying,
      coalesce(s.seats, 0) AS seats,
      round(s.amount::numeric * CASE s.recurring_interval WHEN 'day' THEN 365 WHEN 'week' THEN 52 WHEN 'month' THEN 12 ELSE 1 END
        / (12 * s.recurring_interval_count))::bigint AS monthly)
  SELECT begin, 1, 0, seats, CASE WHEN paying = begin THEN monthly ELSE 0 END, CASE WHEN paying > begin THEN monthly ELSE 0 END,
    0, 0, 0, 0, 0, 0, 0, 0, 0 FROM terms
  UNION ALL SELECT paying, 0, 0, 0, monthly, -monthly, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM terms WHERE paying > begin AND (stop IS NULL OR paying < stop)
  UNION ALL SELECT stop, 0, 1, -seats, CASE WHEN paying > begin AND paying >= stop THEN 0 ELSE -monthly END,
    CASE WHEN paying > begin AND paying >= stop THEN -monthly ELSE 0 END, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM terms WHERE stop IS NOT NULL
  UNION ALL SELECT s.canceled_at, 0, 0, 0, 0, 0, 1,
    (s.customer_cancellation_reason IS NOT DISTINCT FROM 'customer_service')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'low_quality')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'missing_features')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'switched_service')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'too_complex')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'too_expensive')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'unused')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'other')::int
    WHERE s.canceled_at IS NOT NULL
$$;
--> statement-breakpoint
CREATE FUNCTION "checkout_facts"("c" "checkouts") RETURNS TABLE (at timestamptz, checkouts bigint, succeeded bigint) LANGUAGE sql IMMUTABLE AS $$
  SELECT c.created_at, 1, (c.status = 'succeeded')::int
$$;
--> statement-breakpoint
CREATE FUNCTION "orders_precede"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT CASE WHEN metric_slot(s.started_at) = metric_slot(NEW.paid_at) THEN NULL ELSE greatest(s.started_at, (
      SELECT max(o.paid_at) FROM orders o WHERE o.organization_id = NEW.organization_id
        AND o.subscription_id = NEW.subscription_id AND o.id <> NEW.id AND o.paid_at <= NEW.paid_at)) END
    INTO NEW.preceded_at FROM subscriptions s
    WHERE s.organization_id = NEW.organization_id AND s.id = NEW.subscription_id;
  RETURN NEW;
END $$;
--> statement-breakpoint
-- What a snapshot puts back has its sums with it.
CREATE TRIGGER "orders_precede" BEFORE INSERT ON "orders" FOR EACH ROW
  WHEN (NEW.paid_at IS NOT NULL AND NEW.subscription_id IS NOT NULL AND current_setting('floe.restoring', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION "orders_precede"();
--> statement-breakpoint
CREATE TRIGGER "orders_precede_paid" BEFORE UPDATE ON "orders" FOR EACH ROW
  WHEN (OLD.paid_at IS NULL AND NEW.paid_at IS NOT NULL AND NEW.subscription_id IS NOT NULL
    AND current_setting('floe.restoring', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION "orders_precede"();
--> statement-breakpoint
CREATE FUNCTION "orders_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('floe.restoring', true) = 'on' THEN RETURN NULL; END IF;
  -- Of an organization that is deleted, the sums go, too.
  IF TG_OP = 'UPDATE' OR TG_OP = 'DELETE' AND EXISTS (SELECT FROM organization WHERE id = OLD.organization_id) THEN
    INSERT INTO metric_tallies (organization_id, seconds, at, product_id, orders, revenue, net_revenue, one_time, one_time_revenue, one_time_net_revenue, opening, opening_revenue, opening_net_revenue)
    SELECT OLD.organization_id, 0, metric_slot(f.at), OLD.product_id, -f.orders, -f.revenue, -f.net_revenue, -f.one_time, -f.one_time_revenue, -f.one_time_net_revenue, -f.opening, -f.opening_revenue, -f.opening_net_revenue
    FROM order_facts(OLD) f;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO metric_tallies (organization_id, seconds, at, product_id, orders, revenue, net_revenue, one_time, one_time_revenue, one_time_net_revenue, opening, opening_revenue, opening_net_revenue)
    SELECT NEW.organization_id, 0, metric_slot(f.at), NEW.product_id, f.orders, f.revenue, f.net_revenue, f.one_time, f.one_time_revenue, f.one_time_net_revenue, f.opening, f.opening_revenue, f.opening_net_revenue
    FROM order_facts(NEW) f;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "orders_tally" AFTER INSERT OR DELETE ON "orders" FOR EACH ROW EXECUTE FUNCTION "orders_tally"();
--> statement-breakpoint
CREATE TRIGGER "orders_tally_changed" AFTER UPDATE ON "orders" FOR EACH ROW
  WHEN ((OLD.paid_at, OLD.status, OLD.refunded_amount, OLD.platform_fee_amount, OLD.subtotal_amount, OLD.discount_amount, OLD.tax_amount, OLD.product_id, OLD.subscription_id) IS DISTINCT FROM
    (NEW.paid_at, NEW.status, NEW.refunded_amount, NEW.platform_fee_amount, NEW.subtotal_amount, NEW.discount_amount, NEW.tax_amount, NEW.product_id, NEW.subscription_id))
  EXECUTE FUNCTION "orders_tally"();
--> statement-breakpoint
CREATE FUNCTION "subscriptions_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('floe.restoring', true) = 'on' THEN RETURN NULL; END IF;
  -- Of an organization that is deleted, the sums go, too.
  IF TG_OP = 'UPDATE' OR TG_OP = 'DELETE' AND EXISTS (SELECT FROM organization WHERE id = OLD.organization_id) THEN
    INSERT INTO metric_tallies (organization_id, seconds, at, product_id, started, churned, seats, mrr, trial_mrr, canceled, canceled_customer_service, canceled_low_quality, canceled_missing_features, canceled_switched_service, canceled_too_complex, canceled_too_expensive, canceled_unused, canceled_other)
    SELECT OLD.organization_id, 0, metric_slot(f.at), OLD.product_id, -f.started, -f.churned, -f.seats, -f.mrr, -f.trial_mrr, -f.canceled, -f.canceled_customer_service, -f.canceled_low_quality, -f.canceled_missing_features, -f.canceled_switched_service, -f.canceled_too_complex, -f.canceled_too_expensive, -f.canceled_unused, -f.canceled_other
    FROM subscription_facts(OLD) f;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO metric_tallies (organization_id, seconds, at, product_id, started, churned, seats, mrr, trial_mrr, canceled, canceled_customer_service, canceled_low_quality, canceled_missing_features, canceled_switched_service, canceled_too_complex, canceled_too_expensive, canceled_unused, canceled_other)
    SELECT NEW.organization_id, 0, metric_slot(f.at), NEW.product_id, f.started, f.churned, f.seats, f.mrr, f.trial_mrr, f.canceled, f.canceled_customer_service, f.canceled_low_quality, f.canceled_missing_features, f.canceled_switched_service, f.canceled_too_complex, f.canceled_too_expensive, f.canceled_unused, f.canceled_other
    FROM subscription_facts(NEW) f;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "subscriptions_tally" AFTER INSERT OR DELETE ON "subscriptions" FOR EACH ROW EXECUTE FUNCTION "subscriptions_tally"();
--> statement-breakpoint
CREATE TRIGGER "subscriptions_tally_changed" AFTER UPDATE ON "subscriptions" FOR EACH ROW
  WHEN ((OLD.started_at, OLD.ended_at, OLD.ends_at, OLD.trial_end, OLD.amount, OLD.recurring_interval, OLD.recurring_interval_count, OLD.seats, OLD.canceled_at, OLD.customer_cancellation_reason, OLD.product_id) IS DISTINCT FROM
    (NEW.started_at, NEW.ended_at, NEW.ends_at, NEW.trial_end, NEW.amount, NEW.recurring_interval, NEW.recurring_interval_count, NEW.seats, NEW.canceled_at, NEW.customer_cancellation_reason, NEW.product_id))
  EXECUTE FUNCTION "subscriptions_tally"();
--> statement-breakpoint
CREATE FUNCTION "checkouts_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('floe.restoring', true) = 'on' THEN RETURN NULL; END IF;
  -- Of an organization that is deleted, the sums go, too.
  IF TG_OP = 'UPDATE' OR TG_OP = 'DELETE' AND EXISTS (SELECT FROM organization WHERE id = OLD.organization_id) THEN
    INSERT INTO metric_tallies (organization_id, seconds, at, product_id, checkouts, succeeded)
    SELECT OLD.organization_id, 0, metric_slot(f.at), OLD.product_id, -f.checkouts, -f.succeeded
    FROM checkout_facts(OLD) f;
  END IF;
  IF TG_OP <> 'DELETE' THEN
    INSERT INTO metric_tallies (organization_id, seconds, at, product_id, checkouts, succeeded)
    SELECT NEW.organization_id, 0, metric_slot(f.at), NEW.product_id, f.checkouts, f.succeeded
    FROM checkout_facts(NEW) f;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "checkouts_tally" AFTER INSERT OR DELETE ON "checkouts" FOR EACH ROW EXECUTE FUNCTION "checkouts_tally"();
--> statement-breakpoint
CREATE TRIGGER "checkouts_tally_changed" AFTER UPDATE ON "checkouts" FOR EACH ROW
  WHEN ((OLD.created_at, OLD.status, OLD.product_id) IS DISTINCT FROM
    (NEW.created_at, NEW.status, NEW.product_id))
  EXECUTE FUNCTION "checkouts_tally"();
--> statement-breakpoint
-- How many rows long lists have is noted by whatever statement makes or takes away such rows. Of an organization that is
-- deleted the tallies go, too; what a snapshot puts back has its own.
CREATE FUNCTION "rows_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('floe.restoring', true) = 'on' THEN RETURN NULL; END IF;
  IF TG_OP = 'INSERT' THEN
    INSERT INTO list_tallies (organization_id, list, change)
    SELECT organization_id, TG_TABLE_NAME, count(*) FROM changed GROUP BY organization_id;
  ELSE
    INSERT INTO list_tallies (organization_id, list, change)
    SELECT o.id, TG_TABLE_NAME, -count(*) FROM changed JOIN organization o ON o.id = changed.organization_id GROUP BY o.id;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "checkouts_listed" AFTER INSERT ON "checkouts" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "checkouts_unlisted" AFTER DELETE ON "checkouts" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "payments_listed" AFTER INSERT ON "payments" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "payments_unlisted" AFTER DELETE ON "payments" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "subscriptions_listed" AFTER INSERT ON "subscriptions" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "subscriptions_unlisted" AFTER DELETE ON "subscriptions" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
-- An order is in the list once it has its number, and a customer until they are deleted.
CREATE FUNCTION "row_tally"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('floe.restoring', true) = 'on' THEN RETURN NULL; END IF;
  IF TG_OP = 'DELETE' THEN
    INSERT INTO list_tallies (organization_id, list, change)
    SELECT id, TG_TABLE_NAME, -1 FROM organization WHERE id = OLD.organization_id;
  ELSE
    INSERT INTO list_tallies (organization_id, list, change) VALUES (NEW.organization_id, TG_TABLE_NAME, TG_ARGV[0]::int);
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "orders_listed" AFTER INSERT ON "orders" FOR EACH ROW WHEN (NEW.invoice_number IS NOT NULL) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "orders_appeared" AFTER UPDATE ON "orders" FOR EACH ROW WHEN (NOT (OLD.invoice_number IS NOT NULL) AND NEW.invoice_number IS NOT NULL) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "orders_disappeared" AFTER UPDATE ON "orders" FOR EACH ROW WHEN (OLD.invoice_number IS NOT NULL AND NOT (NEW.invoice_number IS NOT NULL)) EXECUTE FUNCTION "row_tally"('-1');
--> statement-breakpoint
CREATE TRIGGER "orders_unlisted" AFTER DELETE ON "orders" FOR EACH ROW WHEN (OLD.invoice_number IS NOT NULL) EXECUTE FUNCTION "row_tally"();
--> statement-breakpoint
CREATE TRIGGER "customers_listed" AFTER INSERT ON "customers" FOR EACH ROW WHEN (NEW.deleted_at IS NULL) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "customers_appeared" AFTER UPDATE ON "customers" FOR EACH ROW WHEN (NOT (OLD.deleted_at IS NULL) AND NEW.deleted_at IS NULL) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "customers_disappeared" AFTER UPDATE ON "customers" FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NOT (NEW.deleted_at IS NULL)) EXECUTE FUNCTION "row_tally"('-1');
--> statement-breakpoint
CREATE TRIGGER "customers_unlisted" AFTER DELETE ON "customers" FOR EACH ROW WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION "row_tally"();
--> statement-breakpoint
-- Events of use are kept in parts, by the time in their ids. What no part is for is in the last one, which is mostly empty.
ALTER TABLE "usage_events" RENAME TO "usage_events_plain";
--> statement-breakpoint
CREATE TABLE "usage_events" (LIKE "usage_events_plain" INCLUDING ALL) PARTITION BY RANGE ("id");
--> statement-breakpoint
DROP TABLE "usage_events_plain";
--> statement-breakpoint
CREATE TABLE "usage_events_other" PARTITION OF "usage_events" DEFAULT;
--> statement-breakpoint
-- The parts for the months to come are made by the server; these are there from the beginning.
DO $$
DECLARE
  month timestamptz;
  first_id text;
  next_id text;
BEGIN
  FOR ahead IN 0..2 LOOP
    month := (date_trunc('month', now() AT TIME ZONE 'UTC') + make_interval(months => ahead)) AT TIME ZONE 'UTC';
    first_id := lpad(to_hex((extract(epoch FROM month) * 1000)::bigint), 12, '0');
    next_id := lpad(to_hex((extract(epoch FROM (month AT TIME ZONE 'UTC' + interval '1 month') AT TIME ZONE 'UTC') * 1000)::bigint), 12, '0');
    EXECUTE format('CREATE TABLE %I PARTITION OF "usage_events" FOR VALUES FROM (%L) TO (%L)',
      'usage_events_' || to_char(month AT TIME ZONE 'UTC', 'YYYY_MM'),
      substr(first_id, 1, 8) || '-' || substr(first_id, 9) || '-7000-8000-000000000000',
      substr(next_id, 1, 8) || '-' || substr(next_id, 9) || '-7000-8000-000000000000');
  END LOOP;
END $$;
--> statement-breakpoint
CREATE FUNCTION "usage_events_gone"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM "usage_events" USING gone WHERE "usage_events"."organization_id" = gone."id";
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "usage_events_gone" AFTER DELETE ON "organization" REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION "usage_events_gone"();
--> statement-breakpoint
ALTER TABLE "customer_meters" SET (fillfactor = 70);
--> statement-breakpoint
-- Payloads are kept as they are up to a page: to compress each costs more than anything else of writing it.
ALTER TABLE "events" SET (toast_tuple_target = 8160);
