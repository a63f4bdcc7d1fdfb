CREATE INDEX "checkout_links_by_label" ON "checkout_links" USING btree ("organization_id","label","id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_codes" ON "checkout_links" USING btree ("organization_id","allow_discount_codes","id");--> statement-breakpoint
CREATE INDEX "checkout_links_by_success_url" ON "checkout_links" USING btree ("organization_id",left("success_url", 600),"id");