// All causes with what they cost and what mending them gains, as bars.
import type { Cause, Page } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { PlaceName } from "../../parts/PlaceName";
import { Table } from "../../parts/Table";
import { address } from "../../state/route";
import { location } from "../../text/place";
import { ranksInWords } from "../../text/ranks";
import { plain } from "../../text/words";
import { LikelyRange } from "./Verdict";

interface Row {
  cause: Cause;
  words: string;
  index: number;
}

export function CauseList({ page }: { page: Page }) {
  const { causes } = page.diagnosis;
  const most = Math.max(...causes.flatMap((cause) => [cause.cost_seconds, cause.gain_range_seconds[1]]));
  const rows: Row[] = causes.map((cause, index) => ({ cause, words: page.causes[index]?.class_words ?? plain(cause.class), index }));
  return (
    <Panel title={causes.length === 1 ? "The cause" : "All causes"} wide says="Seconds and shares of the run time at the largest scale. The thin line is the range in which the gain likely is (19 times of 20).">
      <Table
        name="causes"
        caption="Causes of scaling loss"
        rows={rows}
        stacked
        columns={[
          {
            head: "Cause",
            names: true,
            value: ({ words }) => words,
            show: ({ words, index }) => (
              <a href={address("cause", [index + 1])}>
                {index + 1}. {words}
              </a>
            ),
          },
          {
            head: "Where",
            value: ({ cause }) => location(cause.place),
            show: ({ cause }) => (
              <>
                <PlaceName place={cause.place} />
                {cause.called_from && (
                  <div class="soft">
                    called from <bdi>{cause.called_from}</bdi>
                  </div>
                )}
              </>
            ),
          },
          ...(page.is_process ? [] : [{ head: "Ranks", value: ({ cause }: Row) => cause.ranks, show: ({ cause }: Row) => ranksInWords(cause.ranks, cause.scale, 24) }]),
          {
            head: "Costs now",
            unit: "s",
            figure: true,
            value: ({ cause }) => cause.cost_seconds,
            show: ({ cause, index }) => (
              <div class="barred">
                <Fig value={cause.cost_seconds} unit="s" from={`/diagnosis/causes/${index}/cost_seconds`} /> · {""}
                <Fig value={cause.cost_share} unit="share" from={`/diagnosis/causes/${index}/cost_share`} />
                <Bar value={cause.cost_seconds} most={most} colour="var(--wait)" striped />
              </div>
            ),
          },
          {
            head: "Gain if mended",
            unit: "s",
            figure: true,
            value: ({ cause }) => cause.gain_seconds,
            show: ({ cause, index }) => (
              <div class="barred">
                <Fig value={cause.gain_seconds} unit="s" from={`/diagnosis/causes/${index}/gain_seconds`} /> · {""}
                <Fig value={cause.gain_share} unit="share" from={`/diagnosis/causes/${index}/gain_share`} /> (<LikelyRange cause={cause} />)
                <Bar value={cause.gain_seconds} most={most} range={cause.gain_range_seconds} />
              </div>
            ),
          },
        ]}
      />
    </Panel>
  );
}
