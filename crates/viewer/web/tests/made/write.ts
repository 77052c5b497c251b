// Writes the made-up pages into a folder: `write.js FOLDER`.
import { mkdirSync, writeFileSync } from "node:fs";
import { HARMLESS, HOSTILE } from "./names";
import { madePage } from "./page";

const folder = process.argv[2] ?? ".made";
mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}/ring.json`, JSON.stringify(madePage(HARMLESS)));
writeFileSync(`${folder}/hostile.json`, JSON.stringify(madePage(HOSTILE)));
writeFileSync(`${folder}/long.json`, JSON.stringify(longPage()));
const nothing = madePage(HARMLESS);
nothing.diagnosis = { ...nothing.diagnosis, causes: [], headline: ["Nothing was found that costs enough to be reported."], other_reading: null, account: { ...nothing.diagnosis.account, parts: [], small: null } };
nothing.causes = [];
nothing.timeline = nothing.timeline.map(({ ranks }) => ({ ranks, windows: [], missing: "The run has no event windows." }));
nothing.graph = { neighbourhoods: [], flow: null };
nothing.tables = [];
writeFileSync(`${folder}/nothing.json`, JSON.stringify(nothing));

/** A page whose sentences have no gap to break at, and whose first cause has three windows on both clocks. */
function longPage() {
  const page = madePage(HARMLESS);
  const unbroken = <T>(value: T): T => JSON.parse(JSON.stringify(value), (_, part: unknown) => (typeof part === "string" ? part.replaceAll(" ", "_") : part)) as T;
  page.diagnosis = unbroken(page.diagnosis);
  page.causes = unbroken(page.causes).map((cause) => ({ ...cause, pictures: cause.pictures.slice(0, 1).flatMap((picture) => [0, 1, 2].flatMap((window) => (["wall", "virtual"] as const).map((clock) => ({ ...picture, window, clock })))) }));
  return page;
}
