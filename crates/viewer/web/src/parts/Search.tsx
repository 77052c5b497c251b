// Searches the places of the program: functions, loops, files, MPI calls.
import { useMemo, useState } from "preact/hooks";
import type { Page } from "../model";
import { address, go } from "../state/route";
import { framePlace } from "../text/frame";
import { location, placeName } from "../text/place";
import { seconds } from "../text/units";
import { Dialog } from "./Dialog";

/** At most so many places are listed. */
const MOST = 50;

export interface Hit {
  frame: number;
  name: string;
  where: string;
  time: number | null;
}

/** Places whose name, file or function has all words of the query; the one with the most time of each site comes first. */
export function findPlaces(page: Page, query: string, most = MOST): Hit[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const contexts = page.contexts;
  const time = contexts.scales.at(-1)?.metrics["time"]?.inclusive;
  const sites = new Map<number, Hit>();
  for (let frame = 0; frame < contexts.parent.length; frame += 1) {
    const place = framePlace(contexts, frame);
    const [name, where] = [placeName(place), location(place)];
    const text = `${name} ${where} ${place.function} ${place.file ?? ""}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) continue;
    const hit = { frame, name, where, time: time?.[frame] ?? null };
    const site = contexts.site[frame] ?? frame;
    const known = sites.get(site);
    if (!known || (hit.time ?? 0) > (known.time ?? 0)) sites.set(site, hit);
  }
  return [...sites.values()].sort((a, b) => (b.time ?? 0) - (a.time ?? 0) || a.frame - b.frame).slice(0, most);
}

export function Search({ page, onClose }: { page: Page; onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [at, setAt] = useState(0);
  const hits = useMemo(() => findPlaces(page, query), [page, query]);
  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    go(address("program", [], { place: hit.frame }));
  };
  const walk = (step: number) => {
    const next = Math.max(0, Math.min(hits.length - 1, at + step));
    setAt(next);
    document.getElementById(`hit-${next}`)?.scrollIntoView({ block: "nearest" });
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown") walk(1);
    else if (event.key === "ArrowUp") walk(-1);
    else if (event.key === "Enter") open(hits[at]);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Search places" onClose={onClose}>
      <input
        class="query"
        type="text"
        autofocus
        role="combobox"
        aria-label="Function, loop, file or MPI call"
        aria-expanded="true"
        aria-controls="hits"
        aria-activedescendant={hits.length > 0 ? `hit-${at}` : undefined}
        placeholder="function, loop, file or MPI call"
        value={query}
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={onKey}
      />
      <ul class="found" id="hits" role="listbox" aria-label="Places">
        {hits.map((hit, i) => (
          <li id={`hit-${i}`} role="option" aria-selected={i === at} onClick={() => open(hit)}>
            <bdi class="where">{hit.where}</bdi> <bdi>{hit.name}</bdi>
            <span class="soft"> {seconds(hit.time)} of all ranks</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p class="says">No place has these words.</p>}
    </Dialog>
  );
}
