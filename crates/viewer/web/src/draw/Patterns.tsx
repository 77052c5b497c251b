// Fills of the kinds of time. Each has a colour and a pattern, so that nobody has to tell colours apart.

/** Kinds of time that pictures show. */
export type Fill = "computation" | "uneven-work" | "serialisation" | "transfer" | "uneven-threads" | "serial-part" | "scheduling" | "communication" | "without-core" | "unknown" | "wait" | "call" | "cause";

const COLOURS: Record<Fill, string> = {
  computation: "var(--compute)",
  "uneven-work": "var(--wait)",
  serialisation: "var(--lost)",
  transfer: "var(--move)",
  "uneven-threads": "var(--wait)",
  "serial-part": "var(--lost)",
  scheduling: "var(--move)",
  communication: "var(--move)",
  "without-core": "var(--core)",
  unknown: "var(--grid)",
  wait: "var(--wait)",
  call: "var(--move)",
  cause: "var(--compute-deep)",
};

/** Lines of each pattern, in a tile of 6 by 6. */
const LINES: Partial<Record<Fill, string>> = {
  "uneven-work": "M-1,7 L7,-1 M-1,1 L1,-1 M5,7 L7,5",
  wait: "M-1,7 L7,-1 M-1,1 L1,-1 M5,7 L7,5",
  serialisation: "M0,3 L6,3",
  transfer: "M3,0 L3,6",
  "uneven-threads": "M-1,7 L7,-1 M-1,1 L1,-1 M5,7 L7,5",
  "serial-part": "M0,3 L6,3",
  scheduling: "M3,0 L3,6",
  communication: "M3,0 L3,6",
  "without-core": "M-1,-1 L7,7 M5,-1 L7,1 M-1,5 L1,7",
  cause: "M0,0 L6,6 M6,0 L0,6",
};

export const FILLS = Object.keys(COLOURS) as Fill[];

/** A fill by its name; what has no fill of its own looks unknown. */
export function fillNamed(name: string): Fill {
  return FILLS.find((fill) => fill === name) ?? "unknown";
}

/** The definitions; `id` must be unique on the page. */
export function Patterns({ id }: { id: string }) {
  return (
    <defs>
      {FILLS.map((fill) => (
        <pattern id={`${id}-${fill}`} width="6" height="6" patternUnits="userSpaceOnUse">
          <rect width="6" height="6" style={{ fill: COLOURS[fill] }} />
          {LINES[fill] && <path d={LINES[fill]} style={{ stroke: "var(--paper)", strokeWidth: 1.1, strokeOpacity: 0.75, fill: "none" }} />}
        </pattern>
      ))}
    </defs>
  );
}

export function paint(id: string, fill: Fill): string {
  return `url(#${id}-${fill})`;
}

/** A small sample of a fill, for legends. */
export function Swatch({ id, fill }: { id: string; fill: Fill }) {
  return (
    <svg class="swatch" width="16" height="12" aria-hidden="true">
      <Patterns id={`${id}-swatch-${fill}`} />
      <rect width="16" height="12" fill={paint(`${id}-swatch-${fill}`, fill)} />
    </svg>
  );
}
