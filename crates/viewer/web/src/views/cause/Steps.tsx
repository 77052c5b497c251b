// The path from the wait to the cause, as steps with figures.
import type { Cause, CauseDetail } from "../../model";
import { Fig } from "../../parts/Fig";
import { PlaceName } from "../../parts/PlaceName";
import { address } from "../../state/route";
import { capitalised, clockName } from "../../text/words";

interface Props {
  cause: Cause;
  detail: CauseDetail | undefined;
  from: string;
  /** The step that the picture highlights. */
  chosen: number | null;
  choose: (step: number | null) => void;
}

export function Steps({ cause, detail, from, chosen, choose }: Props) {
  const clocks = [...new Set(cause.path.map((step) => step.clock))];
  return (
    <>
      <ol class="steps">
        {cause.path.map((step, i) => {
          const frame = detail?.steps[i]?.frames[0];
          const isCause = i === cause.path.length - 1;
          return (
            <li class={`${isCause ? "is-cause" : ""}${chosen === i ? " chosen" : ""}`} onMouseEnter={() => choose(i)} onMouseLeave={() => choose(null)}>
              <span class="badge" aria-hidden="true">
                {i + 1}
              </span>
              <span>
                {capitalised(detail?.steps[i]?.words ?? `ranks ${step.ranks} ${step.what}`)}
                {": "}
                <strong>
                  <Fig value={step.seconds} unit="s" from={`${from}/path/${i}/seconds`} />
                </strong>{" "}
                at{" "}
                {frame === undefined ? (
                  <PlaceName place={step.place} brief />
                ) : (
                  <a href={address("program", [], { place: frame })}>
                    <PlaceName place={step.place} brief />
                  </a>
                )}
                {isCause && <strong> (the cause)</strong>}
              </span>
            </li>
          );
        })}
      </ol>
      <p class="says">Seconds of each rank concerned, over the whole run; the picture shows one time that it happens. They are {clocks.map(clockName).join("; for waits or work, ")}.</p>
    </>
  );
}
