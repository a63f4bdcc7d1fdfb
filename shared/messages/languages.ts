/** The languages of emails and documents: one line for each folder. Pages find their languages by the folders. */
export * as de from "./de/server.ts";
export * as en from "./en/server.ts";
export * as fr from "./fr/server.ts";
