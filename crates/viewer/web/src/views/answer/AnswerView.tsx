// The first view: the answer, then what it is made of.
import { Missing } from "../../parts/Missing";
import type { ViewProps } from "../../state/view";
import { scalingName } from "../../text/words";
import { CauseList } from "./CauseList";
import { EfficiencyTable } from "./EfficiencyTable";
import { Limits } from "./Limits";
import { LossAccount } from "./LossAccount";
import { ScaleChart } from "./ScaleChart";
import { Verdict } from "./Verdict";

/** So many sentences of the answer are its heading; the others follow in normal letters. */
const FIRST = 2;

export function AnswerView({ page, route }: ViewProps) {
  const { diagnosis } = page;
  const first = diagnosis.causes[0];
  return (
    <>
      <section class="panel wide answer" aria-label="The answer">
        <h1>
          {diagnosis.headline.slice(0, FIRST).map((sentence) => (
            <span>{sentence} </span>
          ))}
        </h1>
        {diagnosis.headline.length > FIRST && <p class="explained">{diagnosis.headline.slice(FIRST).join(" ")}</p>}
        {first && <Verdict page={page} cause={first} index={0} words={page.causes[0]?.class_words ?? first.class} link />}
        {diagnosis.other_reading && (
          <div class="other">
            <h2>If it is {scalingName(diagnosis.other_reading.scaling)}</h2>
            <p>{diagnosis.other_reading.headline.join(" ")}</p>
          </div>
        )}
      </section>
      {diagnosis.causes.length > 0 ? <CauseList page={page} /> : <Missing what="No cause" why="Nothing was found that costs enough to be reported." />}
      {page.scales.length > 0 && <ScaleChart page={page} route={route} />}
      <EfficiencyTable page={page} />
      <LossAccount page={page} />
      <Limits diagnosis={diagnosis} />
    </>
  );
}
