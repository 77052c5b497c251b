// Reads the data of the page: from the file itself, or from the server that sent it.
import type { Page } from "../model";

/** The version of the data that this page can show. */
const VERSION = 1;

/** Characters that cannot be seen, or that change the direction of the text around them: those of the text report. */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff]/g;

/** A text in which every such character is written as its number, so that names are what they seem. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (letter) => `\\u{${letter.charCodeAt(0).toString(16)}}`);
}

/** The same for all texts inside a value; numbers are left as they are. */
export function visibleEverywhere(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) {
    if (typeof value[0] === "number") return value;
    value.forEach((item, i) => {
      value[i] = visibleEverywhere(item);
    });
    return value;
  }
  if (value !== null && typeof value === "object") {
    const fields = value as Record<string, unknown>;
    for (const name of Object.keys(fields)) fields[name] = visibleEverywhere(fields[name]);
  }
  return value;
}

/** Source text keeps its lines and tabs; all else is made visible. */
export function readPage(text: string): Page {
  const page = visibleEverywhere(JSON.parse(text)) as Page | null;
  if (!page || typeof page !== "object") throw new Error("This file has no data of a diagnosis. Make it with headwater diagnose --html FILE.");
  if (page.version !== VERSION) throw new Error(`These data are of version ${String(page.version)}; this page shows version ${VERSION}. Use the headwater that made the data.`);
  return page;
}

export async function loadPage(): Promise<Page> {
  const inside = document.getElementById("headwater-data")?.textContent?.trim() ?? "null";
  if (inside !== "null" && inside !== "") return readPage(inside);
  if (!location.protocol.startsWith("http")) return readPage("null");
  const answer = await fetch(`data.json${location.search}`);
  if (!answer.ok) throw new Error(`The data could not be loaded (${answer.status}). Is headwater view still running?`);
  return readPage(await answer.text());
}

/** Requests a tile from the server that sent the page. */
export async function loadTile<Tile>(path: string, query: Record<string, string | number>, token: string): Promise<Tile> {
  const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  const answer = await fetch(`${path}?${words.join("&")}`, { headers: { "X-Headwater-Token": token } });
  if (!answer.ok) throw new Error(`${(await answer.text()) || answer.status}`);
  return visibleEverywhere(await answer.json()) as Tile;
}
