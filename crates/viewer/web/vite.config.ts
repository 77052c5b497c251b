// Builds the page into one file, `../dist/index.html`, that loads nothing from anywhere else.
import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";
import { licenceNotices } from "./build/notices.js";
import { contentSecurityPolicy } from "./build/policy.js";

export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy(), licenceNotices()],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "../dist",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    chunkSizeWarningLimit: 500,
  },
});
