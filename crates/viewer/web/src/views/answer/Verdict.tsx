// The main cause at a glance: what it is, where, on which ranks, and what there is to gain.
import type { Cause, Page } from "../../model";
import { Fig } from "../../parts/Fig";
import { RankStrip } from "../../parts/RankStrip";
import { address } from "../../state/route";
import { location, placeName } from "../../text/place";
import { ranksInWords, ranksOf } from "../../text/ranks";
import { shareRange } from "../../text/units";
import { capitalised } from "../../text/words";

interface Props {
  page: Page;
  cause: Cause;
  index: number;
  /** The class of the cause in words. */
  words: string;
  link: boolean;
}

export function Verdict({ page, cause, index, words, link }: Props) {
  const from = `/diagnosis/causes/${index}`;
  return (
    <dl class="verdict">
      <div>
        <dt>Cause</dt>
        <dd class="big">{capitalised(words)}</dd>
        <dd>{link && <a href={address("cause", [index + 1])}>See why</a>}</dd>
      </div>
      <div>
        <dt>Where</dt>
        <dd class="big">
          <bdi class="where">{location(cause.place)}</bdi>
        </dd>
        <dd>
          <bdi>{placeName(cause.place)}</bdi>
        </dd>
      </div>
      {!page.is_process && (
        <div>
          <dt>Ranks</dt>
          <dd class="big">{ranksInWords(cause.ranks, cause.scale, 18).replace(/^ranks? /, "")}</dd>
          <dd>
            of {cause.scale} <RankStrip of={cause.scale} marked={ranksOf(cause.ranks)} />
          </dd>
        </div>
      )}
      <div>
        <dt>Gain if mended</dt>
        <dd class="big">
          up to <Fig value={cause.gain_share} unit="share" from={`${from}/gain_share`} />
        </dd>
        <dd>
          <Fig value={cause.gain_seconds} unit="s" from={`${from}/gain_seconds`} /> of the run time; likely{" "}
          <LikelyRange cause={cause} />
        </dd>
      </div>
    </dl>
  );
}

/** The range of the gain, as shares of the same time as the gain. */
export function LikelyRange({ cause }: { cause: Cause }) {
  const range = gainRange(cause);
  return <span class="fig">{range ? shareRange(...range) : "–"}</span>;
}

export function gainRange(cause: Cause): [number, number] | null {
  const each = cause.cost_seconds > 0 ? cause.cost_share / cause.cost_seconds : Number.NaN;
  const [least, most] = cause.gain_range_seconds;
  return Number.isFinite(each) ? [least * each, most * each] : null;
}
