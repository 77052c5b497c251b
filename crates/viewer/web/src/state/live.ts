// Parts of the data that the server of `headwater view` sends when they are wanted.
import { useEffect, useState } from "preact/hooks";
import { loadTile } from "./load";

export interface Loaded<Part> {
  part: Part | null;
  error: string | null;
}

/** Requests a part; without a path nothing is requested. An answer that comes too late is dropped. */
export function useLive<Part>(path: string | null | undefined, query: Record<string, string | number>, token: string): Loaded<Part> {
  const key = JSON.stringify([path, query]);
  const [answer, setAnswer] = useState<Loaded<Part> & { key: string }>({ key: "", part: null, error: null });
  useEffect(() => {
    if (!path) return undefined;
    let wanted = true;
    loadTile<Part>(path, query, token).then(
      (part) => wanted && setAnswer({ key, part, error: null }),
      (reason: unknown) => wanted && setAnswer({ key, part: null, error: String(reason instanceof Error ? reason.message : reason) }),
    );
    return () => {
      wanted = false;
    };
  }, [key]);
  return answer.key === key ? answer : { part: null, error: null };
}
