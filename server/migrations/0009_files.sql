ALTER TABLE "files" DROP CONSTRAINT "files_organization_id_organization_id_fk";
--> statement-breakpoint
CREATE INDEX "files_unfinished" ON "files" USING btree ("created_at") WHERE "files"."deleted_at" is null and not "files"."is_uploaded";