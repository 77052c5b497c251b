// Sets of ranks as the diagnosis writes them: `0-3,7`.

/** The ranks of a set in ascending order. */
export function ranksOf(set: string): number[] {
  const ranks: number[] = [];
  for (const part of set.split(",")) {
    const [first, last] = part.split("-").map(Number);
    if (part === "" || first === undefined || Number.isNaN(first)) continue;
    for (let rank = first; rank <= (last ?? first); rank += 1) ranks.push(rank);
  }
  return ranks;
}

/** The number of ranks of a set, without listing them. */
export function sizeOf(set: string): number {
  let size = 0;
  for (const part of set.split(",")) {
    const [first, last] = part.split("-").map(Number);
    if (part === "" || first === undefined || Number.isNaN(first)) continue;
    size += (last ?? first) - first + 1;
  }
  return size;
}

/** The set of some ranks: `0-3,7`. */
export function setOf(ranks: readonly number[]): string {
  const sorted = [...new Set(ranks)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length; ) {
    let end = i;
    while (sorted[end + 1] === (sorted[end] as number) + 1) end += 1;
    parts.push(end === i ? `${sorted[i]}` : `${sorted[i]}-${sorted[end]}`);
    i = end + 1;
  }
  return parts.join(",");
}

/** `rank 3`, `ranks 0,4,8`, `all 16 ranks`; a long set is shown by its size and its first ranks. */
export function ranksInWords(set: string, of: number, width = 40): string {
  const size = sizeOf(set);
  if (size === 1) return `rank ${set}`;
  if (size === of) return size === 2 ? "both ranks" : `all ${of} ranks`;
  if (set.length <= width) return `ranks ${set}`;
  const first: number[] = [];
  for (const part of set.split(",").slice(0, 4)) first.push(...ranksOf(part.split("-")[0] ?? ""));
  return `${size} of ${of} ranks (${first.join(", ")} …)`;
}
