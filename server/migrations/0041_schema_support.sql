CREATE TABLE "schema_support" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"oldest" integer NOT NULL
);

--> statement-breakpoint
INSERT INTO "schema_support" ("id", "oldest") VALUES (1, 41);
