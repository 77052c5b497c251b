// Keys of the whole page. Each view adds its own while it is shown.
import { useEffect } from "preact/hooks";

/** What each key does; the key is named as the browser names it. */
export type Keys = Record<string, () => void>;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches("input, select, textarea");
}

/** Acts on keys while the component is shown, unless the reader is typing or a dialog is open. */
export function useKeys(keys: Keys): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (isTyping(event.target) || document.querySelector("dialog[open]")) return;
      const act = Object.hasOwn(keys, event.key) ? keys[event.key] : undefined;
      if (!act) return;
      event.preventDefault();
      act();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  });
}

/** The keys, for the reader. */
export const KEY_HELP: [keys: string, what: string][] = [
  ["/", "search places: functions, loops, files"],
  ["?", "show these keys"],
  ["1 … 7", "go to a view: Answer, Cause, Program, Ranks, Timeline, Graph, Numbers"],
  ["[ ]", "previous or next cause"],
  ["← → ↑ ↓", "walk: through tabs, flame graph, matrix, graph; move the timeline"],
  ["+ − 0", "timeline: zoom in, zoom out, show all"],
  ["Enter", "open what is chosen"],
  ["Escape", "close, or go one step out"],
  ["t", "light or dark"],
];
