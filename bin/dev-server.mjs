// The server of `npm run dev`: always the embedded database in .floe-dev and this machine alone, whatever the environment says.
const [port] = process.argv.slice(2);
if (/_live_/.test(process.env.STRIPE_SECRET_KEY ?? "")) {
  process.stderr.write(
    "floe: npm run dev takes no live key of Stripe. Unset STRIPE_SECRET_KEY, or set one of its test mode.\n",
  );
  process.exit(64);
}
const { serve } = await import(new URL("../dist-dev/server.js", import.meta.url).href);
await serve({
  ...(port && { PORT: port }),
  HOST: "127.0.0.1",
  FLOE_URL: "",
  DATABASE_URL: "",
  FLOE_BILLING: "embedded",
  FLOE_DATA_DIR: ".floe-dev",
});
