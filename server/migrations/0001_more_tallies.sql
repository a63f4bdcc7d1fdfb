-- The other lists that grow with what is sold are counted by tallies, too, and so are products.
CREATE TRIGGER "products_listed" AFTER INSERT ON "products" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "products_unlisted" AFTER DELETE ON "products" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "benefit_grants_listed" AFTER INSERT ON "benefit_grants" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "benefit_grants_unlisted" AFTER DELETE ON "benefit_grants" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "license_keys_listed" AFTER INSERT ON "license_keys" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "license_keys_unlisted" AFTER DELETE ON "license_keys" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "webhook_deliveries_listed" AFTER INSERT ON "webhook_deliveries" REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
CREATE TRIGGER "webhook_deliveries_unlisted" AFTER DELETE ON "webhook_deliveries" REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION "rows_tally"();
--> statement-breakpoint
-- A discount is in the list until it is deleted, and a refund once it was told of.
CREATE TRIGGER "discounts_listed" AFTER INSERT ON "discounts" FOR EACH ROW WHEN (NEW.deleted_at IS NULL) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "discounts_appeared" AFTER UPDATE ON "discounts" FOR EACH ROW WHEN (OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NULL) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "discounts_disappeared" AFTER UPDATE ON "discounts" FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION "row_tally"('-1');
--> statement-breakpoint
CREATE TRIGGER "discounts_unlisted" AFTER DELETE ON "discounts" FOR EACH ROW WHEN (OLD.deleted_at IS NULL) EXECUTE FUNCTION "row_tally"();
--> statement-breakpoint
CREATE TRIGGER "refunds_listed" AFTER INSERT ON "refunds" FOR EACH ROW WHEN (NEW.is_announced) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "refunds_appeared" AFTER UPDATE ON "refunds" FOR EACH ROW WHEN (NOT OLD.is_announced AND NEW.is_announced) EXECUTE FUNCTION "row_tally"('1');
--> statement-breakpoint
CREATE TRIGGER "refunds_disappeared" AFTER UPDATE ON "refunds" FOR EACH ROW WHEN (OLD.is_announced AND NOT NEW.is_announced) EXECUTE FUNCTION "row_tally"('-1');
--> statement-breakpoint
CREATE TRIGGER "refunds_unlisted" AFTER DELETE ON "refunds" FOR EACH ROW WHEN (OLD.is_announced) EXECUTE FUNCTION "row_tally"();
--> statement-breakpoint
-- What there is already.
INSERT INTO list_tallies (organization_id, list, change)
SELECT organization_id, list, count(*) FROM (
  SELECT organization_id, 'products' AS list FROM products
  UNION ALL SELECT organization_id, 'benefit_grants' FROM benefit_grants
  UNION ALL SELECT organization_id, 'license_keys' FROM license_keys
  UNION ALL SELECT organization_id, 'webhook_deliveries' FROM webhook_deliveries
  UNION ALL SELECT organization_id, 'discounts' FROM discounts WHERE deleted_at IS NULL
  UNION ALL SELECT organization_id, 'refunds' FROM refunds WHERE is_announced
) present GROUP BY organization_id, list;
--> statement-breakpoint
-- And what snapshots of sandboxes put back: they have their tallies among their rows, whose columns are kept as texts.
WITH saved AS (
  SELECT r.organization_id, r.snapshot_id, r.kind, r.texts[array_position(c.names, 'deleted_at')] AS deleted_at,
    r.texts[array_position(c.names, 'is_announced')] AS is_announced
  FROM snapshot_rows r JOIN snapshots s ON s.organization_id = r.organization_id AND s.id = r.snapshot_id,
    LATERAL (SELECT array_agg(name ORDER BY place) AS names
      FROM jsonb_array_elements_text(s.columns -> r.kind -> 'texts') WITH ORDINALITY n(name, place)) c
  WHERE r.kind IN ('products', 'benefit_grants', 'license_keys', 'webhook_deliveries', 'discounts', 'refunds')
), added AS (
  INSERT INTO snapshot_rows (organization_id, snapshot_id, kind, place, texts)
  SELECT t.organization_id, t.snapshot_id, 'list_tallies',
    (SELECT coalesce(max(o.place), 0) FROM snapshot_rows o WHERE o.organization_id = t.organization_id
      AND o.snapshot_id = t.snapshot_id AND o.kind = 'list_tallies') + row_number() OVER (PARTITION BY t.organization_id, t.snapshot_id),
    (SELECT array_agg(CASE name WHEN 'organization_id' THEN t.organization_id WHEN 'id' THEN t.id::text WHEN 'list' THEN t.list
        WHEN 'change' THEN t.change::text END ORDER BY place)
      FROM jsonb_array_elements_text(s.columns -> 'list_tallies' -> 'texts') WITH ORDINALITY n(name, place))
  FROM (SELECT organization_id, snapshot_id, kind AS list, count(*) AS change, nextval('list_tallies_id_seq') AS id FROM saved
      WHERE kind NOT IN ('discounts', 'refunds') OR (kind = 'discounts' AND deleted_at IS NULL) OR (kind = 'refunds' AND is_announced = 'true')
      GROUP BY organization_id, snapshot_id, kind) t
    JOIN snapshots s ON s.organization_id = t.organization_id AND s.id = t.snapshot_id
  RETURNING organization_id, snapshot_id
)
UPDATE snapshots s SET rows = s.rows + a.count
FROM (SELECT organization_id, snapshot_id, count(*)::int AS count FROM added GROUP BY organization_id, snapshot_id) a
WHERE s.organization_id = a.organization_id AND s.id = a.snapshot_id;
