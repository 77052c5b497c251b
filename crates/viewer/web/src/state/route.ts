// The state of the page is its address: `#/cause/1?scale=16`. So back, forward and shared links work.
import { useEffect, useState } from "preact/hooks";

/** What the page shows: a view, its parts and its choices. */
export interface Route {
  view: string;
  /** The rest of the path, such as the number of a cause. */
  rest: string[];
  choices: Readonly<Record<string, string>>;
}

/** The choices of a route that change; `null` removes one. */
export type Changes = Record<string, string | number | null | undefined>;

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Reads an address; anything that is not one is the first view. */
export function parseRoute(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [view = "", ...rest] = path.split("/").map(decoded);
  const choices = Object.create(null) as Record<string, string>;
  for (const pair of query.split("&")) {
    const [name = "", value = ""] = pair.split("=", 2).map(decoded);
    if (name !== "") choices[name] = value;
  }
  return { view: view || "answer", rest, choices };
}

/** The address of a view with choices. */
export function address(view: string, rest: readonly (string | number)[] = [], choices: Changes = {}): string {
  const path = [view, ...rest].map((part) => encodeURIComponent(String(part))).join("/");
  const query = Object.entries(choices)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value)).replace(/%2C/g, ",")}`)
    .join("&");
  return `#/${path}${query && `?${query}`}`;
}

/** The address of this view with some choices changed. */
export function changed(route: Route, changes: Changes): string {
  return address(route.view, route.rest, { ...route.choices, ...changes });
}

/** Goes to an address. With `replace` it takes the place of the present one, so that Back skips it. */
export function go(to: string, replace = false): void {
  if (replace) location.replace(location.href.replace(/#.*/, "") + to);
  else location.hash = to;
}

/** In a frame that has its document in an attribute, as in a notebook, browsers take links for the notebook's own. */
export function keepLinksHere(): void {
  if (location.protocol !== "about:") return;
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const to = link?.getAttribute("href") ?? "";
    if (!to.startsWith("#") || event.defaultPrevented) return;
    event.preventDefault();
    location.hash = to;
  });
}

/** The present route; the component is drawn again when it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => parseRoute(location.hash));
  useEffect(() => {
    const onChange = () => setRoute(parseRoute(location.hash));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

/** A whole number among the choices, or the default. */
export function numberIn(route: Route, name: string, otherwise: number): number {
  const value = Number(route.choices[name] ?? Number.NaN);
  return Number.isFinite(value) ? value : otherwise;
}
