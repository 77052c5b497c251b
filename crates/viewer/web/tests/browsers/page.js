// Opens pages in real browsers: Debian's Chromium and Firefox ESR, without a screen.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import puppeteer from "puppeteer-core";

const DIST = new URL("../../../dist/index.html", import.meta.url);

/** The programs; environment variables override them. */
export const BROWSERS = {
  chromium: process.env.CHROMIUM ?? "/usr/bin/chromium",
  firefox: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
};

const CHROMIUM_FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];

/** Starts a browser with a profile of its own; `close` ends it and removes the profile. */
export async function startBrowser(name) {
  const profile = mkdtempSync(join(tmpdir(), `headwater-${name}-`));
  const browser = await puppeteer.launch({
    browser: name === "firefox" ? "firefox" : "chrome",
    executablePath: BROWSERS[name],
    headless: true,
    userDataDir: profile,
    args: name === "firefox" ? [] : CHROMIUM_FLAGS,
    protocolTimeout: 120_000,
  });
  const close = async () => {
    await browser.close();
    rmSync(profile, { recursive: true, force: true });
  };
  return { browser, close };
}

/** The built page with data in it, as Rust writes it: no `<` remains in the data. */
export function withData(json) {
  const html = readFileSync(DIST, "utf8");
  const escaped = json.replaceAll("<", "\\u003c");
  return html.replace('<script type="application/json" id="headwater-data">null</script>', () => `<script type="application/json" id="headwater-data">${escaped}</script>`);
}

/** Writes a document that has the page in a sandboxed frame, as a notebook has it, and returns its address. */
export function writeNotebook(folder, name, json) {
  const file = join(folder, `${name}-notebook.html`);
  const attribute = withData(json).replaceAll("&", "&amp;").replaceAll("'", "&#39;");
  writeFileSync(file, `<!doctype html><meta charset="utf-8"><input><iframe sandbox='allow-scripts allow-downloads' width="1000" height="700" srcdoc='${attribute}'></iframe>`);
  return pathToFileURL(file).href;
}

/** Writes a page of its own for some data and returns its address. */
export function writePage(folder, name, json) {
  const file = join(folder, `${name}.html`);
  writeFileSync(file, withData(json));
  return pathToFileURL(file).href;
}
