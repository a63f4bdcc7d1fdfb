CREATE EXTENSION IF NOT EXISTS pg_trgm;--> statement-breakpoint
CREATE TABLE "benefits" (
	"id" uuid PRIMARY KEY NOT NULL,
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
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL
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
	"checkout_link_id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "checkout_link_products_checkout_link_id_product_id_pk" PRIMARY KEY("checkout_link_id","product_id")
);
--> statement-breakpoint
CREATE TABLE "checkout_links" (
	"id" uuid PRIMARY KEY NOT NULL,
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
	CONSTRAINT "checkout_links_client_secret_unique" UNIQUE("client_secret")
);
--> statement-breakpoint
CREATE TABLE "custom_fields" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"deleted_at" timestamp with time zone,
	"type" text NOT NULL,
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"properties" jsonb NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "discount_products" (
	"discount_id" uuid NOT NULL,
	"product_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "discount_products_discount_id_product_id_pk" PRIMARY KEY("discount_id","product_id")
);
--> statement-breakpoint
CREATE TABLE "discounts" (
	"id" uuid PRIMARY KEY NOT NULL,
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
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "files" (
	"id" uuid PRIMARY KEY NOT NULL,
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
	CONSTRAINT "files_path_unique" UNIQUE("path")
);
--> statement-breakpoint
CREATE TABLE "meters" (
	"id" uuid PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"archived_at" timestamp with time zone,
	"name" text NOT NULL,
	"unit" text DEFAULT 'scalar' NOT NULL,
	"custom_label" text,
	"custom_multiplier" integer,
	"filter" jsonb NOT NULL,
	"aggregation" jsonb NOT NULL,
	"metadata" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "product_benefits" (
	"product_id" uuid NOT NULL,
	"benefit_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "product_benefits_product_id_benefit_id_pk" PRIMARY KEY("product_id","benefit_id")
);
--> statement-breakpoint
CREATE TABLE "product_custom_fields" (
	"product_id" uuid NOT NULL,
	"custom_field_id" uuid NOT NULL,
	"order" integer NOT NULL,
	"required" boolean NOT NULL,
	CONSTRAINT "product_custom_fields_product_id_custom_field_id_pk" PRIMARY KEY("product_id","custom_field_id")
);
--> statement-breakpoint
CREATE TABLE "product_medias" (
	"product_id" uuid NOT NULL,
	"file_id" uuid NOT NULL,
	"order" integer NOT NULL,
	CONSTRAINT "product_medias_product_id_file_id_pk" PRIMARY KEY("product_id","file_id")
);
--> statement-breakpoint
ALTER TABLE "benefits" ADD CONSTRAINT "benefits_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "catalog_entries" ADD CONSTRAINT "catalog_entries_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_link_products" ADD CONSTRAINT "checkout_link_products_checkout_link_id_checkout_links_id_fk" FOREIGN KEY ("checkout_link_id") REFERENCES "public"."checkout_links"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_link_products" ADD CONSTRAINT "checkout_link_products_product_id_products_id_fk" FOREIGN KEY ("product_id") REFERENCES "public"."products"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_links" ADD CONSTRAINT "checkout_links_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "checkout_links" ADD CONSTRAINT "checkout_links_discount_id_discounts_id_fk" FOREIGN KEY ("discount_id") REFERENCES "public"."discounts"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "custom_fields" ADD CONSTRAINT "custom_fields_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_products" ADD CONSTRAINT "discount_products_discount_id_discounts_id_fk" FOREIGN KEY ("discount_id") REFERENCES "public"."discounts"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discount_products" ADD CONSTRAINT "discount_products_product_id_products_id_fk" FOREIGN KEY ("product_id") REFERENCES "public"."products"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discounts" ADD CONSTRAINT "discounts_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "files" ADD CONSTRAINT "files_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "meters" ADD CONSTRAINT "meters_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_benefits" ADD CONSTRAINT "product_benefits_product_id_products_id_fk" FOREIGN KEY ("product_id") REFERENCES "public"."products"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_benefits" ADD CONSTRAINT "product_benefits_benefit_id_benefits_id_fk" FOREIGN KEY ("benefit_id") REFERENCES "public"."benefits"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_custom_fields" ADD CONSTRAINT "product_custom_fields_product_id_products_id_fk" FOREIGN KEY ("product_id") REFERENCES "public"."products"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_custom_fields" ADD CONSTRAINT "product_custom_fields_custom_field_id_custom_fields_id_fk" FOREIGN KEY ("custom_field_id") REFERENCES "public"."custom_fields"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_medias" ADD CONSTRAINT "product_medias_product_id_products_id_fk" FOREIGN KEY ("product_id") REFERENCES "public"."products"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "product_medias" ADD CONSTRAINT "product_medias_file_id_files_id_fk" FOREIGN KEY ("file_id") REFERENCES "public"."files"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "benefits_by_creation" ON "benefits" USING btree ("organization_id","created_at","id") WHERE "benefits"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "benefits_part" ON "benefits" USING gin ("description" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "benefits_metadata" ON "benefits" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE UNIQUE INDEX "catalog_entries_subject" ON "catalog_entries" USING btree ("organization_id","kind","subject_id");--> statement-breakpoint
CREATE INDEX "catalog_entries_subject_id" ON "catalog_entries" USING btree ("subject_id");--> statement-breakpoint
CREATE INDEX "checkout_link_products_of_product" ON "checkout_link_products" USING btree ("product_id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_creation" ON "checkout_links" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE UNIQUE INDEX "custom_fields_slug" ON "custom_fields" USING btree ("organization_id","slug") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_by_creation" ON "custom_fields" USING btree ("organization_id","created_at","id") WHERE "custom_fields"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "custom_fields_part" ON "custom_fields" USING gin ("name" gin_trgm_ops,"slug" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "discount_products_of_product" ON "discount_products" USING btree ("product_id");--> statement-breakpoint
CREATE UNIQUE INDEX "discounts_code" ON "discounts" USING btree ("organization_id",lower("code")) WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_creation" ON "discounts" USING btree ("organization_id","created_at","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_by_name" ON "discounts" USING btree ("organization_id","name","id") WHERE "discounts"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "discounts_part" ON "discounts" USING gin ("name" gin_trgm_ops,"code" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "files_by_creation" ON "files" USING btree ("organization_id","created_at","id") WHERE "files"."deleted_at" is null;--> statement-breakpoint
CREATE INDEX "files_to_purge" ON "files" USING btree ("deleted_at") WHERE "files"."deleted_at" is not null and "files"."purged_at" is null;--> statement-breakpoint
CREATE INDEX "meters_by_name" ON "meters" USING btree ("organization_id","name","id");--> statement-breakpoint
CREATE INDEX "meters_by_creation" ON "meters" USING btree ("organization_id","created_at","id");--> statement-breakpoint
CREATE INDEX "meters_name_part" ON "meters" USING gin ("name" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "meters_metadata" ON "meters" USING gin ("metadata" jsonb_path_ops);--> statement-breakpoint
CREATE INDEX "product_benefits_of_benefit" ON "product_benefits" USING btree ("benefit_id");--> statement-breakpoint
CREATE INDEX "product_custom_fields_of_field" ON "product_custom_fields" USING btree ("custom_field_id");--> statement-breakpoint
CREATE INDEX "product_medias_of_file" ON "product_medias" USING btree ("file_id");--> statement-breakpoint
ALTER TABLE "product_prices" ADD CONSTRAINT "product_prices_meter_id_meters_id_fk" FOREIGN KEY ("meter_id") REFERENCES "public"."meters"("id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "customers_part" ON "customers" USING gin ("email" gin_trgm_ops,"name" gin_trgm_ops);--> statement-breakpoint
CREATE INDEX "product_prices_of_meter" ON "product_prices" USING btree ("meter_id") WHERE "product_prices"."meter_id" is not null;--> statement-breakpoint
CREATE INDEX "products_name_part" ON "products" USING gin ("name" gin_trgm_ops);