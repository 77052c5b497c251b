// What every view is given.
import type { Page } from "../model";
import type { Route } from "./route";
import type { Theme } from "./theme";

export interface ViewProps {
  page: Page;
  route: Route;
  theme: Theme;
}
