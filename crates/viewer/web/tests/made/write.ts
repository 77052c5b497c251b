// Writes the made-up pages into a folder: `write.js FOLDER`.
import { mkdirSync, writeFileSync } from "node:fs";
import { HARMLESS, HOSTILE } from "./names";
import { madePage } from "./page";

const folder = process.argv[2] ?? ".made";
mkdirSync(folder, { recursive: true });
writeFileSync(`${folder}/ring.json`, JSON.stringify(madePage(HARMLESS)));
writeFileSync(`${folder}/hostile.json`, JSON.stringify(madePage(HOSTILE)));
const nothing = madePage(HARMLESS);
nothing.diagnosis = { ...nothing.diagnosis, causes: [], headline: ["Nothing was found that costs enough to be reported."], other_reading: null, account: { ...nothing.diagnosis.account, parts: [], small: null } };
nothing.causes = [];
nothing.timeline = nothing.timeline.map(({ ranks }) => ({ ranks, windows: [], missing: "The run has no event windows." }));
nothing.graph = { neighbourhoods: [], flow: null };
nothing.tables = [];
writeFileSync(`${folder}/nothing.json`, JSON.stringify(nothing));
