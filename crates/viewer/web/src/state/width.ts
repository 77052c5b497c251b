// The width that a picture has, in pixels, so that its text keeps its size.
import { useEffect, useRef, useState } from "preact/hooks";
import type { RefObject } from "preact";

/** A reference for the surrounding element, and its width. */
export function useWidth<E extends HTMLElement>(first = 640): [RefObject<E | null>, number] {
  const element = useRef<E | null>(null);
  const [width, setWidth] = useState(first);
  useEffect(() => {
    const observed = element.current;
    if (!observed) return undefined;
    const measure = () => setWidth(Math.max(200, Math.floor(observed.clientWidth)));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(observed);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
