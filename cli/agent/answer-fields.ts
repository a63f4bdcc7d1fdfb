/** Generated from shared/api by bin/write-answer-fields.mjs. */

/** Fields whose text has a fixed form in every answer: an id, a time, an address of mail, one of a few words. */
export const fixedFields: ReadonlySet<string> = new Set(
  "access action activated_at active_trial_interval agreed_at amount_type applied_at applies_at archive_id archived_at at behavior benefit_id benefit_type billing_reason by canceled_at case_id change checkout_id claimed_at confirmed_at conjunction created_after created_at created_before current_meter_period_end current_meter_period_start current_period_start custom_field_id customer_cancellation_reason customer_id cut deadline_at default_payment_method_id default_tax_behavior deleted_at details_submitted_at discount_id dispute_status duration end_timestamp ended_at endpoint_id ends_at entry_id events evidence_due_by expires_at finished_at first_seen first_user_event_at flagged_malicious_at format from_product_id func granted_at invitation_token_expires_at issued_at item_id last_credited_at last_credited_until last_modified_at last_seen last_used_at last_validated_at member_id meter_id meter_interval migration_id min_date missing_legal modified_at next_payment_attempt_at notified_at now onboarding_resubmission_requested_at operator order_id parent_id past_due_at paused_at payment_id payment_processor pending_product_id period_end period_start permission platform previous_secret_expires_at processor product_id product_price_id proration_behavior provider queued_at recurring_interval reduces_order_id renews_at resumes_at reverses_order_id revoked_at role saved_at scheme seat_tier_type service settled_at since slack_integration_id stage start_timestamp started_at starts_at status subscription_id taken_at target_id tax_behavior tier_type timeframe to_product_id trial_end trial_interval trial_start trigger unit user_id visibility".split(
    " ",
  ),
);

/** Objects with keys that callers chose. */
export const mapFields: ReadonlySet<string> = new Set(
  "benefit_metadata custom_field_data customer_metadata document headers meta metadata payment_processor_metadata processor_metadata seat_metadata".split(
    " ",
  ),
);
