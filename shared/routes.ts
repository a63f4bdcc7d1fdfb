/** Generated from shared/api by bin/write-routes.mjs: the method and the path of each operation. */
export * from "./routes/open.ts";
export * from "./routes/portal.ts";
export * from "./routes/seller.ts";
