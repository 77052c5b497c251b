// A part of a view: a heading, what it shows, and buttons that save it.
import type { ComponentChildren } from "preact";
import { useId, useRef } from "preact/hooks";
import { savePicture } from "../state/save";

interface Props {
  title: string;
  /** One sentence that says what is seen. */
  says?: ComponentChildren;
  /** Name of the files that the buttons save; without it there are no buttons for pictures. */
  picture?: string | undefined;
  /** The picture is drawn on a canvas, which cannot become an SVG. */
  pixels?: boolean;
  wide?: boolean;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Panel({ title, says, picture, pixels, wide, actions, children }: Props) {
  const id = useId();
  const body = useRef<HTMLDivElement>(null);
  const save = (format: "svg" | "png") => {
    const drawn = body.current?.querySelector<SVGSVGElement | HTMLCanvasElement>("svg.picture, canvas");
    if (drawn && picture) savePicture(drawn, picture, drawn instanceof HTMLCanvasElement ? "png" : format);
  };
  return (
    <section class={wide ? "panel wide" : "panel"} aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        <div class="actions">
          {actions}
          {picture && (
            <>
              {!pixels && (
                <button type="button" class="small" onClick={() => save("svg")} aria-label={`Save as SVG: ${title}`}>
                  SVG
                </button>
              )}
              <button type="button" class="small" onClick={() => save("png")} aria-label={`Save as PNG: ${title}`}>
                PNG
              </button>
            </>
          )}
        </div>
      </header>
      {says && <p class="says">{says}</p>}
      <div ref={body}>{children}</div>
    </section>
  );
}
