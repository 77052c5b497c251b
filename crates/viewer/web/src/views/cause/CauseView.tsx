// One cause: why we say so, from the path to what was ruled out.
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { PlaceName } from "../../parts/PlaceName";
import { address } from "../../state/route";
import type { ViewProps } from "../../state/view";
import { capitalised, scalingName } from "../../text/words";
import { Verdict } from "../answer/Verdict";
import { GrowthPanel } from "./Growth";
import { PathPanel } from "./PathPanel";
import { RankChart } from "./RankChart";
import { SourcePanel } from "./SourcePanel";
import { ThreadChart } from "./ThreadChart";

export function CauseView({ page, route }: ViewProps) {
  const causes = page.diagnosis.causes;
  const index = (Number(route.rest[0] ?? 1) || 1) - 1;
  const cause = causes[index];
  const detail = page.causes[index];
  if (!cause) {
    return (
      <section class="panel wide">
        <h1>{causes.length === 0 ? "No cause was found" : `There is no cause ${index + 1}`}</h1>
        {causes.length === 0 && <p class="says">No place costs enough to be reported as a cause.</p>}
        <p class="links">
          <a href={address("answer")}>{causes.length === 0 ? "The answer says where the time goes, and how much is lost" : "Back to the answer"}</a>
        </p>
      </section>
    );
  }
  const from = `/diagnosis/causes/${index}`;
  const name = `cause-${index + 1}`;
  const source = detail?.source ?? null;
  return (
    <>
      <section class="panel wide answer" aria-label="The cause">
        {causes.length > 1 && (
          <nav class="causes" aria-label="Causes">
            {causes.map((_, i) => (
              <a href={address("cause", [i + 1])} aria-current={i === index ? "page" : undefined}>
                {i + 1}. {page.causes[i]?.class_words ?? causes[i]?.class}
              </a>
            ))}
          </nav>
        )}
        <h1>{capitalised(detail?.title ?? cause.class)}</h1>
        <Verdict page={page} cause={cause} index={index} words={detail?.class_words ?? cause.class} link={false} />
        <p class="explained">{cause.explanation}</p>
        {cause.only_if && <p class="says">It is a cause only under {scalingName(cause.only_if)}.</p>}
      </section>
      <PathPanel cause={cause} detail={detail} contexts={page.contexts} from={from} route={route} name={name} />
      {detail && !page.is_process && <RankChart values={detail.by_rank} from={`/causes/${index}/by_rank`} name={name} />}
      {cause.by_thread && <ThreadChart threads={cause.by_thread} from={`${from}/by_thread`} name={name} />}
      {detail && <GrowthPanel growth={detail.growth} added={page.added} from={`/causes/${index}/growth`} name={name} />}
      <SourcePanel source={source === null ? null : (page.sources[source] ?? null)} index={source ?? -1} />
      <Panel title="What supports it">
        <ul class="sentences">
          {cause.evidence.map(({ text }) => (
            <li>{text}</li>
          ))}
          {cause.waiting_seconds !== null && !cause.evidence.some(({ text }) => text.includes("(delay cost)")) && (
            <li>
              All ranks together wait <Fig value={cause.waiting_seconds} unit="s" from={`${from}/waiting_seconds`} /> because of it (delay cost).
            </li>
          )}
          {cause.repeated && (
            <li>
              It is found in {cause.repeated.found} of {cause.repeated.of} diagnoses that leave out one recording of each scale.
            </li>
          )}
        </ul>
        <h3>Other causes looked for in the whole program</h3>
        {detail && detail.ruled_out.length > 0 ? (
          <ul class="sentences">
            {detail.ruled_out.map((text) => (
              <li>{text}</li>
            ))}
          </ul>
        ) : (
          <p class="says">Nothing else came into question here.</p>
        )}
        <h3>Called by</h3>
        <ol class="stack">
          {cause.call_path.map((place) => (
            <li>
              <PlaceName place={place} />
            </li>
          ))}
        </ol>
        <p class="links">
          {detail?.frames[0] !== undefined && <a href={address("program", [], { place: detail.frames[0] })}>Show it in the program</a>}
          {detail?.neighbourhood !== null && detail?.neighbourhood !== undefined && <a href={address("graph", [], { part: detail.neighbourhood })}>Show the graph around it</a>}
        </p>
      </Panel>
    </>
  );
}
