// Takes pictures of views to look at: `pictures.js DATA.json FOLDER [ADDRESS…]`, at 1280 and 400 pixels, light and dark.
import { mkdirSync, readFileSync } from "node:fs";
import { startBrowser, writePage } from "./page.js";

const [data, folder, ...wanted] = process.argv.slice(2);
const views = wanted.length > 0 ? wanted : ["answer", "cause/1", "program", "ranks", "timeline", "graph", "numbers"];
const looks = (process.env.LOOKS ?? "1280-light,400-light,1280-dark,400-dark").split(",");
mkdirSync(folder, { recursive: true });
const address = writePage(folder, "page", readFileSync(data, "utf8"));
const { browser, close } = await startBrowser("chromium");
for (const look of looks) {
  const [width, theme] = look.split("-");
  const page = await browser.newPage();
  page.on("console", (message) => message.type() === "error" && console.log("console:", message.text()));
  page.on("pageerror", (error) => console.log("error:", error.message));
  await page.setViewport({ width: Number(width), height: 900 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
  for (const view of views) {
    await page.goto(`${address}#/${view}`);
    await page.reload();
    await page.waitForSelector("main");
    await new Promise((done) => setTimeout(done, 400));
    const name = view.replace(/[^a-z0-9]+/gi, "-");
    await page.screenshot({ path: `${folder}/${name}-${look}.png`, fullPage: true });
  }
  await page.close();
}
await close();
