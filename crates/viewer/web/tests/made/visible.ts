// For tests in browsers: texts as the page shows them.
export { visibleEverywhere as visible } from "../../src/state/load";
