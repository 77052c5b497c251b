// Turns the unit tests into JavaScript that Node runs.
import { readdirSync } from "node:fs";

const tests = readdirSync("tests/unit").filter((name) => name.endsWith(".test.ts"));

export default tests.map((name) => ({
  input: `tests/unit/${name}`,
  platform: "node",
  external: [/^node:/],
  output: { file: `.made/unit/${name.replace(/ts$/, "js")}` },
}));
