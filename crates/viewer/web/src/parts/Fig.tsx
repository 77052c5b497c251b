// A figure with its unit. It says which figure of the page's data it is, so that tests can compare them.
import { figure, isKnown, UNKNOWN } from "../text/units";
import type { Maybe, Unit } from "../text/units";

interface Props {
  value: Maybe;
  unit: Unit;
  /** Where the figure is in the page's data: a JSON pointer. */
  from?: string | undefined;
  /** Why the figure is not known, if it is not. */
  why?: string | undefined;
}

export function Fig({ value, unit, from, why }: Props) {
  if (!isKnown(value)) return <Unknown why={why ?? "not known"} from={from} />;
  return (
    <span class="fig" data-from={from} data-unit={unit}>
      {figure(value, unit)}
    </span>
  );
}

/** A dash with the reason why there is no figure. */
export function Unknown({ why, from }: { why: string; from?: string | undefined }) {
  return (
    <span class="unknown" title={why} data-from={from} data-unit="unknown">
      {UNKNOWN}
      <span class="unseen"> ({why})</span>
    </span>
  );
}
