// The colours of the page for a canvas, with the same patterns as in other pictures.

export interface Colours {
  computation: string;
  wait: CanvasPattern | string;
  waitPlain: string;
  call: string;
  core: string;
  ink: string;
  soft: string;
  line: string;
  grid: string;
  paper: string;
  path: string;
  mark: string;
}

function striped(context: CanvasRenderingContext2D, colour: string, paper: string): CanvasPattern | string {
  const size = 6;
  const tile = document.createElement("canvas");
  [tile.width, tile.height] = [size, size];
  const pen = tile.getContext("2d");
  if (!pen) return colour;
  pen.fillStyle = colour;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = paper;
  pen.globalAlpha = 0.7;
  pen.lineWidth = 1.1;
  for (const shift of [-size, 0, size]) {
    pen.beginPath();
    pen.moveTo(shift - 1, size + 1);
    pen.lineTo(shift + size + 1, -1);
    pen.stroke();
  }
  return context.createPattern(tile, "repeat") ?? colour;
}

/** Reads the colours of the present theme. */
export function coloursFor(context: CanvasRenderingContext2D): Colours {
  const style = getComputedStyle(document.documentElement);
  const read = (name: string) => style.getPropertyValue(name).trim();
  return {
    computation: read("--compute"),
    wait: striped(context, read("--wait"), read("--paper")),
    waitPlain: read("--wait"),
    call: read("--move"),
    core: read("--core"),
    ink: read("--ink"),
    soft: read("--soft"),
    line: read("--line"),
    grid: read("--grid"),
    paper: read("--paper"),
    path: read("--path"),
    mark: read("--mark"),
  };
}

/** Sizes a canvas for the screen's pixels and returns its pen, cleared. */
export function penFor(canvas: HTMLCanvasElement, width: number, height: number): CanvasRenderingContext2D | null {
  const ratio = Math.min(3, devicePixelRatio || 1);
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen?.setTransform(ratio, 0, 0, ratio, 0, 0);
  return pen;
}

/** A mix of two colours given as `#rrggbb`; `share` of the second. */
export function mixed(first: string, second: string, share: number): string {
  const part = (colour: string, at: number) => Number.parseInt(colour.slice(at, at + 2), 16);
  const channel = (at: number) => Math.round(part(first, at) * (1 - share) + part(second, at) * share);
  return `rgb(${channel(1)} ${channel(3)} ${channel(5)})`;
}
