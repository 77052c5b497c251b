// Adds a content security policy to the built page: only its own script and its own style may run.
import { createHash } from "node:crypto";

const hash = (text) => `'sha256-${createHash("sha256").update(text, "utf8").digest("base64")}'`;

/** The contents of all inline elements of one name, except data blocks, which never run. */
function contents(html, name) {
  const found = [];
  const pattern = new RegExp(`<${name}\\b([^>]*)>([\\s\\S]*?)</${name}>`, "g");
  for (const [, attributes, text] of html.matchAll(pattern)) {
    if (!attributes.includes("application/json")) found.push(text);
  }
  return found;
}

/** The policy for a page: everything is forbidden except what the page itself contains. */
export function policy(html) {
  const scripts = contents(html, "script").map(hash).join(" ") || "'none'";
  const styles = contents(html, "style").map(hash).join(" ") || "'none'";
  return [
    "default-src 'none'",
    `script-src ${scripts}`,
    `style-src ${styles}`,
    "img-src data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** A plug-in of vite that writes the policy into the page after all else is inlined. */
export function contentSecurityPolicy() {
  return {
    name: "headwater-content-security-policy",
    enforce: "post",
    generateBundle: {
      order: "post",
      handler(_options, bundle) {
        for (const file of Object.values(bundle)) {
          if (file.type !== "asset" || !file.fileName.endsWith(".html")) continue;
          const html = String(file.source);
          const meta = `<meta http-equiv="Content-Security-Policy" content="${policy(html)}" />`;
          file.source = html.replace('<meta charset="utf-8" />', (charset) => `${charset}\n    ${meta}`);
        }
      },
    },
  };
}
