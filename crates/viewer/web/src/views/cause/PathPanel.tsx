// Why we say so: the path as a picture, and as steps.
import { useId, useState } from "preact/hooks";
import { Swatch } from "../../draw/Patterns";
import type { Fill } from "../../draw/Patterns";
import type { Cause, CauseDetail, Contexts, Picture } from "../../model";
import { Missing } from "../../parts/Missing";
import { Panel } from "../../parts/Panel";
import { address, changed, numberIn } from "../../state/route";
import type { Route } from "../../state/route";
import { ranksOf } from "../../text/ranks";
import { hopTimes, isCauseHop, PathPicture } from "./PathPicture";
import { Steps } from "./Steps";

const LEGEND: [Fill, string][] = [
  ["computation", "computes"],
  ["wait", "waits"],
  ["call", "in MPI, not waiting"],
  ["cause", "the cause"],
];

interface Props {
  cause: Cause;
  detail: CauseDetail | undefined;
  contexts: Contexts;
  from: string;
  route: Route;
  name: string;
}

/** What distinguishes a picture from the others of its cause. */
function pictureName(picture: Picture, all: readonly Picture[]): string {
  const clock = picture.clock === "virtual" ? "with a core for each rank" : "as recorded";
  const others = all.filter((other) => other.clock === picture.clock);
  return others.length > 1 ? `${clock}, window ${picture.window}` : clock;
}

/** The picture in which the cause takes the largest part, so that it can be seen. */
export function bestPicture(cause: Cause, pictures: readonly Picture[]): number {
  const causers = new Set(ranksOf(cause.ranks));
  const parts = pictures.map((picture) => {
    const [begin, end] = hopTimes(picture);
    const lengths = picture.hops.filter((hop) => isCauseHop(hop, cause.path.length, causers)).map((hop) => hop.end_ns - hop.begin_ns);
    return Math.max(0, ...lengths) / Math.max(1, end - begin);
  });
  return Math.max(0, parts.indexOf(Math.max(...parts)));
}

export function PathPanel({ cause, detail, contexts, from, route, name }: Props) {
  const id = useId();
  const [chosen, choose] = useState<number | null>(null);
  const pictures = detail?.pictures ?? [];
  const best = bestPicture(cause, pictures);
  const at = Math.min(Math.max(0, numberIn(route, "picture", best)), Math.max(0, pictures.length - 1));
  const picture = pictures[at];
  const whole = route.choices["stretch"] === "whole";
  return (
    <Panel title="From the wait to the cause" picture={picture ? `${name}-path` : undefined} wide says={picture?.caption}>
      {picture ? (
        <>
          <div class="choices">
            <fieldset>
              <legend>Times</legend>
              <div class="group">
                {pictures.map((other, i) => (
                  <a class="choice" href={changed(route, { picture: i === best ? null : i })} aria-current={i === at ? "true" : undefined}>
                    {pictureName(other, pictures)}
                  </a>
                ))}
              </div>
            </fieldset>
            <fieldset>
              <legend>Stretch</legend>
              <div class="group">
                <a class="choice" href={changed(route, { stretch: null })} aria-current={whole ? undefined : "true"}>
                  the path
                </a>
                <a class="choice" href={changed(route, { stretch: "whole" })} aria-current={whole ? "true" : undefined}>
                  all around it
                </a>
              </div>
            </fieldset>
            <a href={timelineLink(picture)}>Open in the timeline</a>
          </div>
          <PathPicture picture={picture} contexts={contexts} whole={whole} chosen={chosen} steps={cause.path.length} ranks={cause.ranks} />
          <p class="legend">
            {LEGEND.map(([fill, words]) => (
              <span>
                <Swatch id={id} fill={fill} /> {words}
              </span>
            ))}
            <span>
              <span class="badge">1</span> step of the path
            </span>
            <span>
              <span aria-hidden="true">↘</span> message of the path
            </span>
          </p>
        </>
      ) : (
        <Missing what="No picture of the path" why={detail?.picture_missing ?? "No recorded window shows it."} />
      )}
      {cause.path.length > 0 && <Steps cause={cause} detail={detail} from={from} chosen={chosen} choose={choose} />}
    </Panel>
  );
}

function timelineLink(picture: Picture): string {
  const [begin, end] = hopTimes(picture).map(Math.round);
  return address("timeline", [], { scale: picture.scale, window: picture.window, clock: picture.clock, from: begin, to: end });
}
