// The views of a page that the tests go through, by its data.

/** Addresses of all views, with the choices that change what is drawn. */
export function viewsOf(data) {
  const views = ["answer", "answer?bars=seconds&cores=all", "program", "program?show=table", "program?show=callers", "graph", "graph?show=all", "numbers"];
  const causes = Math.max(1, Math.min(3, data.diagnosis.causes.length));
  for (let i = 1; i <= causes; i += 1) views.push(`cause/${i}`, `cause/${i}?stretch=whole`);
  data.runs.forEach((_, scale) => views.push(`ranks?scale=${scale}`, `timeline?scale=${scale}`, `program?scale=${scale}`));
  // Whole runs, where there are traces.
  data.timeline.forEach((of, scale) => of.windows.filter((w) => w.whole).forEach((w) => views.push(`timeline?scale=${scale}&window=${w.window}`)));
  const last = data.runs.length - 1;
  if (last > 0) views.push("program?against=0", `timeline?scale=${last}&beside=${last - 1}`);
  views.push("program?ranks=0", `program?place=${Math.min(5, data.contexts.parent.length - 1)}`, "ranks?colours=all&messages=count", "timeline?clock=wall", "timeline?window=1", "timeline?window=2", "program?against=b0", "nowhere", "cause/99", "timeline?scale=99");
  return views;
}

/** One address of each kind, for slower checks. */
export function mainViews() {
  return ["answer", "cause/1", "program", "program?show=table", "ranks", "timeline", "graph", "numbers"];
}
