CREATE TABLE "event_stream_tokens" (
	"id" uuid NOT NULL,
	"organization_id" text NOT NULL,
	"created_at" timestamp with time zone NOT NULL,
	"modified_at" timestamp with time zone,
	"token_hash" text NOT NULL,
	"credential" text NOT NULL,
	"filters" jsonb NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "event_stream_tokens_pkey" PRIMARY KEY("organization_id","id")
);
--> statement-breakpoint
ALTER TABLE "event_stream_tokens" ADD CONSTRAINT "event_stream_tokens_organization_id_organization_id_fk" FOREIGN KEY ("organization_id") REFERENCES "public"."organization"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "event_stream_tokens_by_token" ON "event_stream_tokens" USING btree ("token_hash");--> statement-breakpoint
CREATE INDEX "event_stream_tokens_by_end" ON "event_stream_tokens" USING btree ("expires_at");