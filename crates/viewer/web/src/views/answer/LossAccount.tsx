// Where the loss of the largest scale goes: its parts, which sum to it.
import type { Page } from "../../model";
import { Bar } from "../../parts/Bar";
import { Fig } from "../../parts/Fig";
import { Panel } from "../../parts/Panel";
import { PlaceName } from "../../parts/PlaceName";
import { Table } from "../../parts/Table";
import { lossName } from "../../text/words";

export function LossAccount({ page }: { page: Page }) {
  const { diagnosis } = page;
  const account = diagnosis.account;
  const from = "/diagnosis/account";
  const most = Math.max(...account.parts.map((part) => part.seconds));
  const against = account.against === "even" ? "ranks that only compute, all alike" : "ideal scaling of the computation of the smallest scale";
  return (
    <Panel title="Where the loss goes">
      <p class="says">
        At {page.runs.at(-1)?.scale}, <Fig value={account.loss_seconds} unit="s" from={`${from}/loss_seconds`} /> of{" "}
        <Fig value={account.of_seconds} unit="s" from={`${from}/of_seconds`} /> (<Fig value={account.loss_share} unit="share" from={`${from}/loss_share`} />) is lost, against {against}.
      </p>
      {account.parts.length > 0 && (
        <Table
          name="loss"
          caption="Parts of the loss"
          rows={account.parts.map((part, index) => ({ part, index }))}
          columns={[
            { head: "Part", names: true, value: ({ part }) => lossName(part.kind) },
            {
              head: "Time",
              unit: "s",
              figure: true,
              value: ({ part }) => part.seconds,
              show: ({ part, index }) => <Fig value={part.seconds} unit="s" from={`${from}/parts/${index}/seconds`} />,
            },
            {
              head: "Share",
              figure: true,
              value: ({ part }) => part.share,
              show: ({ part, index }) => (
                <div class="barred">
                  <Fig value={part.share} unit="share" from={`${from}/parts/${index}/share`} />
                  <Bar value={part.seconds} most={most} colour={part.kind === "causes" ? "var(--compute-deep)" : "var(--core)"} />
                </div>
              ),
            },
          ]}
        />
      )}
      {account.small && (
        <p class="says">
          {account.small.places === 1 ? "The small losses are in 1 place: " : `The small losses are in ${account.small.places} places, the largest: `}
          {account.small.largest.map(({ place, seconds }, i) => (
            <>
              {i > 0 && ", "}
              <Fig value={seconds} unit="s" from={`${from}/small/largest/${i}/seconds`} /> in <PlaceName place={place} />
            </>
          ))}
          {account.small.shared.length > 0 && <>; {account.small.shared.join("; ")}</>}.
        </p>
      )}
      {account.small && account.small.steps.length > 0 && (
        <p class="says">
          Of these small losses together,{" "}
          {account.small.steps.map(({ place, share, without }, i) => (
            <>
              {i > 0 && "; "}
              <Fig value={share} unit="share" from={`${from}/small/steps/${i}/share`} /> {i === 0 && "are "}in{" "}
              <PlaceName place={place} /> and its callees
              {without.length > 0 && `, without those in ${without.join(" and ")}`}
            </>
          ))}
          .
        </p>
      )}
    </Panel>
  );
}
