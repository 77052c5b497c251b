// Writes what the page shows into files: tables, pictures, data.

/** Offers a file to the reader. */
export function saveFile(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** A cell of CSV. Text that a spreadsheet would run as a formula begins with an apostrophe. */
export function csvCell(value: string | number | null | undefined): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A table as CSV, with lines as RFC 4180 has them. */
export function csv(head: readonly string[], rows: readonly (readonly (string | number | null | undefined)[])[]): string {
  return [head, ...rows].map((row) => `${row.map(csvCell).join(",")}\r\n`).join("");
}

const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "opacity", "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline"];

/** A picture as a file of its own: the styles of the page are written into each element. */
export function svgText(picture: SVGSVGElement): string {
  const copy = picture.cloneNode(true) as SVGSVGElement;
  const [from, to] = [picture.querySelectorAll("*"), copy.querySelectorAll("*")];
  from.forEach((element, i) => {
    const style = getComputedStyle(element);
    for (const name of STYLES) to[i]?.setAttribute(name, style.getPropertyValue(name));
    to[i]?.removeAttribute("class");
  });
  const { width, height } = picture.getBoundingClientRect();
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  const paper = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  paper.setAttribute("width", "100%");
  paper.setAttribute("height", "100%");
  paper.setAttribute("fill", getComputedStyle(document.body).backgroundColor);
  copy.prepend(paper);
  return new XMLSerializer().serializeToString(copy);
}

/** Saves a picture that is drawn as SVG or on a canvas. */
export function savePicture(picture: SVGSVGElement | HTMLCanvasElement, name: string, format: "svg" | "png"): void {
  if (picture instanceof HTMLCanvasElement) {
    picture.toBlob((blob) => blob && saveFile(`${name}.png`, "image/png", blob));
    return;
  }
  const text = svgText(picture);
  if (format === "svg") {
    saveFile(`${name}.svg`, "image/svg+xml", text);
    return;
  }
  const image = new Image();
  const url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  image.onload = () => {
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width * 2, image.height * 2];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(url);
    savePicture(canvas, name, "png");
  };
  image.src = url;
}
