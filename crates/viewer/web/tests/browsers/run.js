// Goes through every view of every page in real browsers. Pages: the made-up ones, and those in the folder `PAGES`.
// `BROWSERS=chromium npm run browsers` uses one browser alone.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { accessible, figures, fits, inNotebook, keys, nothingRan, openTab, show, theme } from "./check.js";
import { BROWSERS, startBrowser, writeNotebook, writePage } from "./page.js";
import { visible } from "../../.made/visible.js";
import { mainViews, viewsOf } from "./views.js";

const folders = [".made", ...(process.env.PAGES ? [process.env.PAGES] : [])];
const pages = folders.flatMap((folder) => readdirSync(folder).filter((name) => name.endsWith(".json")).map((name) => ({ name: basename(name, ".json"), text: readFileSync(join(folder, name), "utf8") })));
const wanted = (process.env.BROWSERS ?? Object.keys(BROWSERS).join(",")).split(",");
const failures = [];
const folder = mkdtempSync(join(tmpdir(), "headwater-pages-"));

/** All checks of one page in one browser. */
async function checkPage(browser, where, name, text) {
  const data = JSON.parse(text);
  if (data.version === undefined) return;
  const address = writePage(folder, `${where}-${name}`, text);
  const report = (view, problems) => problems.forEach((problem) => failures.push(`${where} ${name} ${view}: ${problem}`));
  const { tab, errors } = await openTab(browser);
  const begun = performance.now();
  await tab.goto(address);
  await tab.waitForSelector("main h1, main h2");
  const first = performance.now() - begun;
  let compared = 0;
  for (const view of viewsOf(data)) {
    await show(tab, view);
    const { count, problems } = await figures(tab, visible(structuredClone(data)));
    compared += count;
    report(view, problems.slice(0, 5));
    report(view, await nothingRan(tab));
    report(view, errors.splice(0));
  }
  report("keys", await keys(tab, data));
  // Firefox takes long for this: there, only the page that has everything is checked in the dark, too.
  for (const look of where === "firefox" && name !== "ring" ? ["light"] : ["light", "dark"]) {
    await theme(tab, look);
    for (const view of mainViews()) {
      await show(tab, view);
      report(`${view} (${look})`, await accessible(tab));
    }
  }
  for (const width of [360, 3840]) {
    await tab.setViewport({ width, height: 900 });
    for (const view of mainViews()) {
      await show(tab, view);
      report(`${view} at ${width} pixels`, await fits(tab));
    }
  }
  if (name === "ring") report("in a notebook", await inNotebook(browser, writeNotebook(folder, `${where}-${name}`, text)));
  if (name === "hostile") report("names", await shownAsTheyAre(tab, data));
  report("at the end", errors.splice(0));
  await tab.close();
  console.log(`${where} ${name}: ${compared} figures compared, first picture after ${first.toFixed(0)} ms`);
}

/** The names of the data stand in the page, letter by letter, with unseen characters as their numbers. */
async function shownAsTheyAre(tab, data) {
  await show(tab, "cause/1");
  const text = await tab.evaluate(() => document.body.textContent);
  const names = [data.diagnosis.causes[0].place.function, data.sources[0].file, data.sources[0].lines[3]];
  return names.filter((name) => !text.includes(visible(name))).map((name) => `does not show ${JSON.stringify(name)}`);
}

/** All pages in one browser. */
async function checkAll(where) {
  const { browser, close } = await startBrowser(where);
  try {
    for (const { name, text } of pages) await checkPage(browser, where, name, text);
  } finally {
    await close();
  }
}

await Promise.all(wanted.map(checkAll));
rmSync(folder, { recursive: true, force: true });
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(failures.length === 0 ? "every view of every page is right" : `${failures.length} failures`);
process.exitCode = failures.length === 0 ? 0 : 1;
