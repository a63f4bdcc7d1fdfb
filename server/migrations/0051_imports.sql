CREATE TABLE "import_records" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"source" text NOT NULL,
	"kind" text NOT NULL,
	"source_id" text NOT NULL,
	"run_id" uuid NOT NULL,
	"reading" integer NOT NULL,
	"line" integer,
	"status" text DEFAULT 'read' NOT NULL,
	"reason" text,
	"detail" text,
	"data" jsonb,
	"hash" text NOT NULL,
	"changed_data" jsonb,
	"applied_run_id" uuid,
	"target_id" uuid,
	"is_created" boolean DEFAULT false NOT NULL,
	CONSTRAINT "import_records_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
CREATE TABLE "import_runs" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"source" text NOT NULL,
	"status" text DEFAULT 'reading' NOT NULL,
	"reading" integer DEFAULT 1 NOT NULL,
	"rows" integer DEFAULT 0 NOT NULL,
	"applied_at" timestamp with time zone,
	"finished_at" timestamp with time zone,
	CONSTRAINT "import_runs_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "subscriptions" ADD COLUMN "billing_held_at" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "import_records" ADD CONSTRAINT "import_records_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "import_records" ADD CONSTRAINT "import_records_run_id_fkey" FOREIGN KEY ("organization_id","run_id") REFERENCES "public"."import_runs"("organization_id","id") ON DELETE no action ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "import_runs" ADD CONSTRAINT "import_runs_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "import_records_of_source" ON "import_records" USING btree ("organization_id","source","kind","source_id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "import_records_of_run" ON "import_records" USING btree ("organization_id","run_id","kind","status","id");--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "import_records_applied" ON "import_records" USING btree ("organization_id","applied_run_id","kind","id") WHERE "import_records"."applied_run_id" is not null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "import_records_of_target" ON "import_records" USING btree ("organization_id","target_id");--> statement-breakpoint
CREATE UNIQUE INDEX IF NOT EXISTS "import_runs_open" ON "import_runs" USING btree ("organization_id") WHERE "import_runs"."finished_at" is null;--> statement-breakpoint
CREATE INDEX IF NOT EXISTS "import_runs_by_time" ON "import_runs" USING btree ("organization_id","created_at","id");--> statement-breakpoint
ALTER TABLE "subscriptions" ADD CONSTRAINT "subscriptions_held" CHECK ("subscriptions"."billing_held_at" is null or ("subscriptions"."due_at" is null and "subscriptions"."reminder_due_at" is null and "subscriptions"."card_due_at" is null and "subscriptions"."change_order_id" is null)) NOT VALID;
--> statement-breakpoint
-- A held subscription is not counted: the product that it comes from counts it, and floe does from its switch on (MOV-10).
CREATE OR REPLACE FUNCTION "subscription_facts"("s" "subscriptions") RETURNS TABLE (at timestamptz, started bigint, churned bigint, seats bigint, mrr bigint, trial_mrr bigint, canceled bigint, canceled_customer_service bigint, canceled_low_quality bigint, canceled_missing_features bigint, canceled_switched_service bigint, canceled_too_complex bigint, canceled_too_expensive bigint, canceled_unused bigint, canceled_other bigint) LANGUAGE sql IMMUTABLE AS $$
  WITH terms AS (
    SELECT s.started_at AS begin, coalesce(s.ended_at, s.ends_at) AS stop, greatest(s.started_at, s.trial_end) AS paying,
      coalesce(s.seats, 0) AS seats,
      round(s.amount::numeric * CASE s.recurring_interval WHEN 'day' THEN 365 WHEN 'week' THEN 52 WHEN 'month' THEN 12 ELSE 1 END
        / (12 * s.recurring_interval_count))::bigint AS monthly
    WHERE s.billing_held_at IS NULL)
  SELECT begin, 1, 0, seats, CASE WHEN paying = begin THEN monthly ELSE 0 END, CASE WHEN paying > begin THEN monthly ELSE 0 END,
    0, 0, 0, 0, 0, 0, 0, 0, 0 FROM terms
  UNION ALL SELECT paying, 0, 0, 0, monthly, -monthly, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM terms WHERE paying > begin AND (stop IS NULL OR paying < stop)
  UNION ALL SELECT stop, 0, 1, -seats, CASE WHEN paying > begin AND paying >= stop THEN 0 ELSE -monthly END,
    CASE WHEN paying > begin AND paying >= stop THEN -monthly ELSE 0 END, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM terms WHERE stop IS NOT NULL
  UNION ALL SELECT s.canceled_at, 0, 0, 0, 0, 0, 1,
    (s.customer_cancellation_reason IS NOT DISTINCT FROM 'customer_service')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'low_quality')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'missing_features')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'switched_service')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'too_complex')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'too_expensive')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'unused')::int, (s.customer_cancellation_reason IS NOT DISTINCT FROM 'other')::int
    WHERE s.canceled_at IS NOT NULL AND s.billing_held_at IS NULL
$$;
--> statement-breakpoint
DROP TRIGGER "subscriptions_tally_changed" ON "subscriptions";
--> statement-breakpoint
CREATE TRIGGER "subscriptions_tally_changed" AFTER UPDATE ON "subscriptions" FOR EACH ROW
  WHEN ((OLD.started_at, OLD.ended_at, OLD.ends_at, OLD.trial_end, OLD.amount, OLD.recurring_interval, OLD.recurring_interval_count, OLD.seats, OLD.canceled_at, OLD.customer_cancellation_reason, OLD.product_id, OLD.billing_held_at) IS DISTINCT FROM
    (NEW.started_at, NEW.ended_at, NEW.ends_at, NEW.trial_end, NEW.amount, NEW.recurring_interval, NEW.recurring_interval_count, NEW.seats, NEW.canceled_at, NEW.customer_cancellation_reason, NEW.product_id, NEW.billing_held_at))
  EXECUTE FUNCTION "subscriptions_tally"();
--> statement-breakpoint
CREATE TRIGGER "import_runs_states" BEFORE UPDATE OF "status" ON "import_runs" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'applied>finished', 'applied>reading', 'applied>rolling_back', 'applying>applied', 'applying>rolling_back', 'checking>planned', 'checking>reading', 'checking>rolling_back', 'planned>applying', 'planned>reading', 'planned>rolling_back', 'reading>checking', 'reading>rolling_back', 'rolling_back>rolled_back'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "import_records_states" BEFORE UPDATE OF "status" ON "import_records" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'applied>undone', 'blocked>read', 'held>switched', 'held>undone', 'read>blocked', 'read>ready', 'ready>applied', 'ready>blocked', 'ready>held', 'ready>read', 'switched>undone', 'undone>read'))
  EXECUTE FUNCTION "refuse_transition"();
