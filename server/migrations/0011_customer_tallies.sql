CREATE TABLE "customer_tallies" (
	"id" bigserial PRIMARY KEY NOT NULL,
	"organization_id" text NOT NULL,
	"change" integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX "customer_tallies_of_organization" ON "customer_tallies" USING btree ("organization_id");--> statement-breakpoint
-- One row for a statement and an organization, however many customers it touches.
CREATE FUNCTION "tally_customers"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO "customer_tallies" ("organization_id", "change")
      SELECT "organization_id", count(*) FROM "after" WHERE "deleted_at" IS NULL GROUP BY 1;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO "customer_tallies" ("organization_id", "change")
      SELECT "organization_id", -count(*) FROM "before" WHERE "deleted_at" IS NULL GROUP BY 1;
  ELSE
    INSERT INTO "customer_tallies" ("organization_id", "change")
      SELECT "organization_id", sum("one") FROM (
        SELECT "organization_id", 1 AS "one" FROM "after" WHERE "deleted_at" IS NULL
        UNION ALL SELECT "organization_id", -1 FROM "before" WHERE "deleted_at" IS NULL
      ) AS "changed" GROUP BY 1 HAVING sum("one") <> 0;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER "customers_made" AFTER INSERT ON "customers" REFERENCING NEW TABLE AS "after" FOR EACH STATEMENT EXECUTE FUNCTION "tally_customers"();
--> statement-breakpoint
CREATE TRIGGER "customers_changed" AFTER UPDATE ON "customers" REFERENCING OLD TABLE AS "before" NEW TABLE AS "after" FOR EACH STATEMENT EXECUTE FUNCTION "tally_customers"();
--> statement-breakpoint
CREATE TRIGGER "customers_gone" AFTER DELETE ON "customers" REFERENCING OLD TABLE AS "before" FOR EACH STATEMENT EXECUTE FUNCTION "tally_customers"();
--> statement-breakpoint
-- The triggers hold off writers until this is committed, so that nobody is counted twice or not at all.
INSERT INTO "customer_tallies" ("organization_id", "change") SELECT "organization_id", count(*) FROM "customers" WHERE "deleted_at" IS NULL GROUP BY 1;
