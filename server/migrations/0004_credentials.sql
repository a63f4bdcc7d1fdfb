ALTER TABLE "session" ADD COLUMN "impersonatorSessionId" text;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "provenAt" timestamp with time zone;--> statement-breakpoint
ALTER TABLE "user" ADD COLUMN "credentialsVersion" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD CONSTRAINT "session_impersonatorSessionId_session_id_fk" FOREIGN KEY ("impersonatorSessionId") REFERENCES "public"."session"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "session_impersonator" ON "session" USING btree ("impersonatorSessionId") WHERE "session"."impersonatorSessionId" is not null;--> statement-breakpoint
CREATE INDEX "session_impersonated_by" ON "session" USING btree ("impersonatedBy") WHERE "session"."impersonatedBy" is not null;