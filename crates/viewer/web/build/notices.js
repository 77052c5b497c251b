// Adds the licences of the libraries in the page to it, as a comment.
import { readFileSync } from "node:fs";

const LIBRARIES = ["preact", "@dagrejs/dagre", "d3-hierarchy"];

/** The notices of all libraries; `--` must not be in a comment. */
export function notices() {
  const parts = LIBRARIES.map((name) => {
    const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
    const text = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
    return `${name} ${version} (${license})\n\n${text}`;
  });
  return `This page contains these libraries:\n\n${parts.join("\n\n")}`.replaceAll(/-(?=-)/g, "- ");
}

/** A plug-in of vite that writes the notices to the end of the page. */
export function licenceNotices() {
  return {
    name: "headwater-licence-notices",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type === "asset" && file.fileName.endsWith(".html")) file.source = String(file.source).replace("</html>", () => `</html>\n<!--\n${notices()}\n-->`);
        }
      },
    },
  };
}
