CREATE TABLE "server_processes" (
	"id" uuid PRIMARY KEY NOT NULL,
	"role" text NOT NULL,
	"started_at" timestamp with time zone NOT NULL,
	"seen_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "payment_setups" ADD COLUMN "process_id" uuid;--> statement-breakpoint
ALTER TABLE "payments" ADD COLUMN "process_id" uuid;