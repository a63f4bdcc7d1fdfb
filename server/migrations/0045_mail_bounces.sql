CREATE TABLE "mail_bounces" (
	"address" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"code" text,
	"reason" text NOT NULL,
	"source" text NOT NULL,
	"count" integer NOT NULL,
	"first_at" timestamp with time zone NOT NULL,
	"last_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "last_answer" text;--> statement-breakpoint
ALTER TABLE "mails" ADD COLUMN "is_requested" boolean DEFAULT false NOT NULL;--> statement-breakpoint
CREATE INDEX "mail_bounces_age" ON "mail_bounces" USING btree ("last_at");