CREATE TABLE "audit_sealed" (
	"entry_id" uuid NOT NULL,
	"chain" text NOT NULL,
	"number" integer NOT NULL,
	"hash" text NOT NULL,
	CONSTRAINT "audit_sealed_chain_number_entry_id_pk" PRIMARY KEY("chain","number","entry_id")
);
--> statement-breakpoint
CREATE TABLE "audit_seals" (
	"chain" text NOT NULL,
	"number" integer NOT NULL,
	"previous_hash" text NOT NULL,
	"entries" integer NOT NULL,
	"first_id" uuid NOT NULL,
	"last_id" uuid NOT NULL,
	"entries_hash" text NOT NULL,
	"sealed_at" timestamp with time zone NOT NULL,
	"hash" text NOT NULL,
	"removed_at" timestamp with time zone,
	CONSTRAINT "audit_seals_chain_number_pk" PRIMARY KEY("chain","number")
);
--> statement-breakpoint
ALTER TABLE "audit_log" ADD COLUMN "request_id" text;--> statement-breakpoint
CREATE UNIQUE INDEX "audit_sealed_entry" ON "audit_sealed" USING btree ("entry_id");--> statement-breakpoint
CREATE INDEX "audit_seals_kept" ON "audit_seals" USING btree ("sealed_at") WHERE "audit_seals"."removed_at" is null;--> statement-breakpoint
-- An entry of the audit log goes only when its seal says that it is removed. The seal itself stays.
CREATE OR REPLACE FUNCTION "audit_log_append_only"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND pg_trigger_depth() > 1 THEN
    IF NEW."organization_id" IS NULL AND to_jsonb(NEW) - 'organization_id' = to_jsonb(OLD) - 'organization_id' THEN
      RETURN NEW;
    END IF;
  END IF;
  IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM "audit_sealed" s JOIN "audit_seals" t ON t."chain" = s."chain" AND t."number" = s."number"
    WHERE s."entry_id" = OLD."id" AND t."removed_at" IS NOT NULL) THEN
    RETURN OLD;
  END IF;
  RAISE EXCEPTION 'The audit log can only be added to.';
END $$;
--> statement-breakpoint
CREATE FUNCTION "audit_seals_append_only"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'UPDATE' AND TG_TABLE_NAME = 'audit_seals' THEN
    IF to_jsonb(OLD) ->> 'removed_at' IS NULL AND to_jsonb(NEW) - 'removed_at' = to_jsonb(OLD) - 'removed_at' THEN
      RETURN NEW;
    END IF;
  END IF;
  IF TG_OP = 'DELETE' AND TG_TABLE_NAME = 'audit_sealed' THEN
    IF EXISTS (SELECT FROM "audit_seals" t WHERE t."chain" = to_jsonb(OLD) ->> 'chain'
      AND t."number" = (to_jsonb(OLD) ->> 'number')::integer AND t."removed_at" IS NOT NULL) THEN
      RETURN OLD;
    END IF;
  END IF;
  RAISE EXCEPTION 'The seals of the audit log can only be added to.';
END $$;
--> statement-breakpoint
CREATE TRIGGER "audit_seals_append_only" BEFORE UPDATE OR DELETE ON "audit_seals" FOR EACH ROW EXECUTE FUNCTION "audit_seals_append_only"();
--> statement-breakpoint
CREATE TRIGGER "audit_seals_never_emptied" BEFORE TRUNCATE ON "audit_seals" FOR EACH STATEMENT EXECUTE FUNCTION "audit_seals_append_only"();
--> statement-breakpoint
CREATE TRIGGER "audit_sealed_append_only" BEFORE UPDATE OR DELETE ON "audit_sealed" FOR EACH ROW EXECUTE FUNCTION "audit_seals_append_only"();
--> statement-breakpoint
CREATE TRIGGER "audit_sealed_never_emptied" BEFORE TRUNCATE ON "audit_sealed" FOR EACH STATEMENT EXECUTE FUNCTION "audit_seals_append_only"();
