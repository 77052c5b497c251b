// The frame of the page: its head, the tabs and the present view.
import { useEffect, useRef, useState } from "preact/hooks";
import type { Page } from "./model";
import { KeyHelp } from "./parts/KeyHelp";
import { Search } from "./parts/Search";
import { useKeys } from "./state/keys";
import type { Keys } from "./state/keys";
import { PageData } from "./state/page";
import { address, go, numberIn, useRoute } from "./state/route";
import type { Route } from "./state/route";
import { useTheme } from "./state/theme";
import { base } from "./text/place";
import { AnswerView } from "./views/answer/AnswerView";
import { CauseView } from "./views/cause/CauseView";
import { GraphView } from "./views/graph/GraphView";
import { NumbersView } from "./views/numbers/NumbersView";
import { ProgramView } from "./views/program/ProgramView";
import { RanksView } from "./views/ranks/RanksView";
import { TimelineView } from "./views/timeline/TimelineView";

const VIEWS = [
  { view: "answer", name: "Answer", component: AnswerView },
  { view: "cause", name: "Cause", component: CauseView },
  { view: "program", name: "Program", component: ProgramView },
  { view: "ranks", name: "Ranks and threads", component: RanksView },
  { view: "timeline", name: "Timeline", component: TimelineView },
  { view: "graph", name: "Graph", component: GraphView },
  { view: "numbers", name: "Numbers", component: NumbersView },
] as const;

/** Views with a heading of their own. */
const HEADED = new Set<string>(["answer", "cause"]);

/** Number of the cause that is shown, from 1. */
function causeOf(route: Route): number {
  return route.view === "cause" ? Number(route.rest[0] ?? 1) || 1 : numberIn(route, "cause", 1);
}

export function App({ page }: { page: Page }) {
  const route = useRoute();
  const [theme, setTheme] = useTheme();
  const [dialog, setDialog] = useState<"search" | "keys" | null>(null);
  const main = useRef<HTMLElement>(null);
  const used = useRef(false);
  const shown = VIEWS.find(({ view }) => view === route.view) ?? VIEWS[0];
  const causes = page.diagnosis.causes.length;
  const toCause = (step: number) => {
    const next = causeOf(route) + step;
    if (next >= 1 && next <= causes) go(address("cause", [next]));
  };
  const turn = () => setTheme(theme === "dark" ? "light" : "dark");
  const keys: Keys = {
    "/": () => setDialog("search"),
    "?": () => setDialog("keys"),
    t: turn,
    "[": () => toCause(-1),
    "]": () => toCause(1),
  };
  VIEWS.forEach(({ view }, i) => {
    keys[String(i + 1)] = () => go(address(view));
  });
  useKeys(keys);
  useEffect(() => {
    document.title = `${shown.name} – ${base(page.program)} – Headwater`;
    // Inside a notebook, the page must not take the keyboard before it is used.
    if (parent === window || used.current) main.current?.focus({ preventScroll: true });
    used.current = true;
    scrollTo(0, 0);
  }, [shown, route.rest[0]]);
  const View = shown.component;
  return (
    <PageData.Provider value={page}>
      <header class="head">
        <a class="skip" href={`${location.hash || "#/answer"}`} onClick={() => main.current?.focus()}>
          Skip to the content
        </a>
        <span class="name">Headwater</span>
        <span class="run">
          <bdi class="code" title={page.program}>
            {base(page.program)}
          </bdi>{" "}
          on {page.runs.length === 1 ? page.runs[0]?.scale : `${page.runs.map((run) => run.figure).join(", ")} ${page.added}`}
        </span>
        <div class="tools">
          <button type="button" onClick={() => setDialog("search")}>
            Search <kbd>/</kbd>
          </button>
          <button type="button" onClick={turn} aria-label={theme === "dark" ? "Light colours" : "Dark colours"} title="light or dark (t)">
            {theme === "dark" ? "☀" : "☾"}
          </button>
          <button type="button" onClick={() => setDialog("keys")} aria-label="Keys">
            ?
          </button>
        </div>
      </header>
      <nav class="tabs" aria-label="Views">
        {VIEWS.map(({ view, name }) => (
          <a href={address(view)} aria-current={view === shown.view ? "page" : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <main ref={main} tabIndex={-1} data-view={shown.view}>
        {!HEADED.has(shown.view) && <h1 class="unseen">{shown.name}</h1>}
        <View page={page} route={route} theme={theme} />
      </main>
      <footer class="foot">
        {page.tool}
        {page.thinned.length > 0 && <> · {page.thinned.join(" ")}</>}
      </footer>
      {dialog === "search" && <Search page={page} onClose={() => setDialog(null)} />}
      {dialog === "keys" && <KeyHelp onClose={() => setDialog(null)} />}
    </PageData.Provider>
  );
}
