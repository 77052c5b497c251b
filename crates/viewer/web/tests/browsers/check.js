// Checks of one page in one browser. Each returns what is wrong, a sentence each.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { wrong } from "./figures.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const rest = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

/** Opens a tab that remembers errors of the page. */
export async function openTab(browser, width = 1280) {
  const tab = await browser.newPage();
  const errors = [];
  tab.on("console", (message) => message.type() === "error" && errors.push(`console: ${message.text()}`));
  tab.on("pageerror", (error) => errors.push(`error: ${error.message}`));
  await tab.setViewport({ width, height: 900 });
  return { tab, errors };
}

/** Shows a view and waits until it is drawn. */
export async function show(tab, view) {
  await tab.evaluate((hash) => {
    location.hash = hash;
  }, `#/${view}`);
  await tab.waitForSelector("main h1, main h2, main .missing");
  await tab.evaluate(() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30))));
}

/** Every figure that says where it is from equals the data; returns how many there were. */
export async function figures(tab, data) {
  const shown = await tab.evaluate(() => [...document.querySelectorAll("[data-from]")].map((element) => ({ from: element.dataset.from, unit: element.dataset.unit, text: element.dataset.unit === "unknown" ? "–" : element.textContent })));
  return { count: shown.length, problems: shown.map((figure) => wrong(data, figure)).filter(Boolean) };
}

/** Nothing of the data has become markup or has run. */
export async function nothingRan(tab) {
  return tab.evaluate(() => {
    const problems = [];
    if (window.stolen !== undefined) problems.push(`a script of the data ran: ${window.stolen}`);
    const strange = document.body.querySelectorAll("iframe, img, object, embed, script:not(#headwater-data):not([type=module]), [onload], [onerror], [onmouseover], a[href^='javascript']");
    for (const element of strange) problems.push(`there is an element ${element.outerHTML.slice(0, 80)}`);
    return problems;
  });
}

/** No part of the page is wider than the screen. The part without which the page is narrower is named: a text can run out of its element, which is then no wider itself. */
export async function fits(tab) {
  return tab.evaluate(() => {
    const page = document.documentElement;
    const wide = page.scrollWidth - page.clientWidth;
    if (wide <= 0) return [];
    const narrower = (element) => {
      const before = element.style.display;
      element.style.display = "none";
      const now = page.scrollWidth - page.clientWidth;
      element.style.display = before;
      return now < wide;
    };
    let guilty = document.body;
    for (let part = guilty; part; part = [...guilty.children].find(narrower)) guilty = part;
    return [`the page is ${wide} pixels too wide: ${guilty.outerHTML.slice(0, 200)}`];
  });
}

/** What axe-core finds. */
export async function accessible(tab) {
  await tab.evaluate(`if (!window.axe) { ${AXE} }`);
  const found = await tab.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }).then((result) => result.violations.map((violation) => `${violation.id}: ${violation.nodes.length} times, ${violation.nodes[0]?.html.slice(0, 160)} ${violation.nodes[0]?.any[0]?.message ?? ""}`)));
  return found;
}

export async function theme(tab, name) {
  await tab.evaluate((wanted) => {
    localStorage.setItem("headwater-theme", wanted);
  }, name).catch(() => undefined);
  await tab.evaluate((wanted) => {
    const now = document.documentElement.dataset.theme;
    if (now !== wanted) document.querySelector("button[aria-label='Dark colours'], button[aria-label='Light colours']").click();
  }, name);
  await rest(50);
}

/** In a frame of a notebook, the page is drawn, leaves the keyboard to the notebook, and its links lead to its own views. */
export async function inNotebook(browser, address) {
  const { tab, errors } = await openTab(browser);
  await tab.goto(address);
  await tab.focus("input");
  const frame = await (await tab.waitForSelector("iframe")).contentFrame();
  await frame.waitForSelector("main h1, main h2");
  await rest(200);
  const problems = (await tab.evaluate(() => document.activeElement.tagName)) === "INPUT" ? [] : ["the page takes the keyboard"];
  await frame.evaluate(() => document.querySelectorAll("nav.tabs a")[2].click());
  await rest(300);
  const shown = await frame.evaluate(() => document.querySelector("main")?.dataset.view);
  if (shown !== "program") problems.push(`a link to the program leads to ${shown}`);
  await tab.close();
  return [...problems, ...errors];
}

/** The keys work: search, open, back, help, views. */
export async function keys(tab, data) {
  const problems = [];
  const expect = (what, is) => is || problems.push(what);
  await show(tab, "answer");
  await tab.keyboard.press("/");
  await tab.waitForSelector("dialog[open] input", { timeout: 5000 });
  const name = data.contexts.strings[data.contexts.name.at(-1)] ?? "";
  await tab.keyboard.type(name.slice(0, 6));
  await rest(100);
  await tab.keyboard.press("Enter");
  await rest(200);
  expect(`search leads to ${await tab.evaluate(() => location.hash)}`, /^#\/program\?place=\d+/.test(await tab.evaluate(() => location.hash)));
  await tab.goBack().catch(() => tab.evaluate(() => history.back()));
  await rest(300);
  expect(`back leads to ${await tab.evaluate(() => location.hash)}`, (await tab.evaluate(() => document.querySelector("main").dataset.view)) === "answer");
  await tab.keyboard.press("?");
  await rest(100);
  expect("? does not show the keys", await tab.evaluate(() => document.querySelector("dialog[open]")?.textContent.includes("search places")));
  await tab.keyboard.press("Escape");
  await rest(100);
  await tab.keyboard.press("3");
  await rest(200);
  expect("3 does not lead to the program", (await tab.evaluate(() => document.querySelector("main").dataset.view)) === "program");
  const walked = await tab.evaluate(() => {
    document.querySelector("svg.flame").focus();
    return location.hash;
  });
  await tab.keyboard.press("ArrowDown");
  await rest(200);
  expect("arrow down does not walk into the flame graph", data.contexts.parent.length < 2 || (await tab.evaluate(() => location.hash)) !== walked);
  return problems;
}
