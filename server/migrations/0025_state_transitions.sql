-- Refuses a change of state that the table's states.ts does not declare. A restore of a sandbox puts rows back as they were.
CREATE FUNCTION "refuse_transition"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('floe.restoring', true) = 'on' THEN RETURN NEW; END IF;
  RAISE EXCEPTION 'A row of % cannot change to this state: %', TG_TABLE_NAME, NEW.id USING ERRCODE = 'FL001';
END $$;
--> statement-breakpoint
CREATE TRIGGER "checkouts_states" BEFORE UPDATE OF "status" ON "checkouts" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'confirmed>open', 'confirmed>succeeded', 'expired>succeeded', 'open>confirmed', 'open>expired', 'open>succeeded'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "orders_states" BEFORE UPDATE OF "status" ON "orders" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'draft>pending', 'paid>partially_refunded', 'paid>refunded', 'partially_refunded>paid', 'partially_refunded>refunded', 'pending>paid', 'pending>void', 'refunded>paid', 'refunded>partially_refunded', 'void>paid', 'void>pending'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "payments_states" BEFORE UPDATE OF "status" ON "payments" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'failed>succeeded', 'pending>failed', 'pending>succeeded'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "payment_setups_states" BEFORE UPDATE OF "status" ON "payment_setups" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'failed>succeeded', 'pending>failed', 'pending>succeeded'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "refunds_states" BEFORE UPDATE OF "status" ON "refunds" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'pending>canceled', 'pending>failed', 'pending>succeeded', 'succeeded>canceled', 'succeeded>failed'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "disputes_states" BEFORE UPDATE OF "status" ON "disputes" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'early_warning>lost', 'early_warning>needs_response', 'early_warning>prevented', 'early_warning>under_review', 'early_warning>won', 'lost>prevented', 'lost>won', 'needs_response>lost', 'needs_response>prevented', 'needs_response>under_review', 'needs_response>won', 'none>early_warning', 'none>lost', 'none>needs_response', 'none>prevented', 'none>under_review', 'none>won', 'prevented>lost', 'prevented>won', 'under_review>lost', 'under_review>prevented', 'under_review>won', 'won>lost', 'won>prevented'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "subscriptions_states" BEFORE UPDATE OF "status" ON "subscriptions" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'active>canceled', 'active>past_due', 'active>paused', 'active>trialing', 'past_due>active', 'past_due>canceled', 'past_due>paused', 'paused>active', 'paused>canceled', 'paused>past_due', 'trialing>active', 'trialing>canceled', 'trialing>past_due', 'trialing>paused'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "customer_seats_states" BEFORE UPDATE OF "status" ON "customer_seats" FOR EACH ROW
  WHEN (coalesce(OLD."status", 'none') <> coalesce(NEW."status", 'none') AND coalesce(OLD."status", 'none') || '>' || coalesce(NEW."status", 'none') NOT IN (
    'claimed>revoked', 'pending>claimed', 'pending>revoked', 'revoked>claimed', 'revoked>pending'))
  EXECUTE FUNCTION "refuse_transition"();
--> statement-breakpoint
CREATE TRIGGER "webhook_events_states" BEFORE UPDATE ON "webhook_events" FOR EACH ROW
  WHEN (coalesce(CASE WHEN OLD."next_attempt_at" IS NOT NULL THEN 'pending' WHEN OLD."succeeded" THEN 'succeeded' WHEN NOT OLD."succeeded" THEN 'failed' WHEN OLD."skipped" THEN 'skipped' ELSE 'canceled' END, 'none') <> coalesce(CASE WHEN NEW."next_attempt_at" IS NOT NULL THEN 'pending' WHEN NEW."succeeded" THEN 'succeeded' WHEN NOT NEW."succeeded" THEN 'failed' WHEN NEW."skipped" THEN 'skipped' ELSE 'canceled' END, 'none') AND coalesce(CASE WHEN OLD."next_attempt_at" IS NOT NULL THEN 'pending' WHEN OLD."succeeded" THEN 'succeeded' WHEN NOT OLD."succeeded" THEN 'failed' WHEN OLD."skipped" THEN 'skipped' ELSE 'canceled' END, 'none') || '>' || coalesce(CASE WHEN NEW."next_attempt_at" IS NOT NULL THEN 'pending' WHEN NEW."succeeded" THEN 'succeeded' WHEN NOT NEW."succeeded" THEN 'failed' WHEN NEW."skipped" THEN 'skipped' ELSE 'canceled' END, 'none') NOT IN (
    'canceled>pending', 'failed>pending', 'pending>canceled', 'pending>failed', 'pending>skipped', 'pending>succeeded', 'skipped>pending', 'succeeded>pending'))
  EXECUTE FUNCTION "refuse_transition"();
