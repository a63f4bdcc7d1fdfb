-- Organizations that were made while a change was prorated by default keep that.
UPDATE "organization" SET "subscription_settings" = '{"proration_behavior":"prorate"}'::jsonb || "subscription_settings";
