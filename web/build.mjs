// SPDX-License-Identifier: Apache-2.0
// node build.mjs: bundles the script and the style into the Python package.
import { build } from "esbuild";

await build({
  entryPoints: { report: "src/main.ts" },
  bundle: true,
  minify: true,
  charset: "ascii",
  target: ["es2022"],
  legalComments: "inline",
  // Whatever a library's text contains, nothing may end the element that the script stands in.
  supported: { "inline-script": false },
  outdir: "../src/unsnarl/reports/assets",
  logLevel: "warning",
});
