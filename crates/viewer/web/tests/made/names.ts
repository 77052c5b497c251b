// Names of a made-up program: harmless ones, and hostile ones that try to be markup.
export interface Names {
  program: string;
  file: string;
  loop: string;
  relax: string;
  exchange: string;
  source: string;
  run: string;
  note: string;
}

export const HARMLESS: Names = {
  program: "/home/a/ring/ring",
  file: "/home/a/ring/ring.c",
  loop: "boundary",
  relax: "relax",
  exchange: "exchange",
  source: "    x[i] = 0.3 * x[i + 1] + 0.7 * x[i];",
  run: "ring",
  note: "There were more ranks than cores.",
};

/** What a page must show as it is, and never run. `stolen` would be set if anything ran. */
export const HOSTILE: Names = {
  program: "/home/</script><script>window.stolen=1</script>/ring",
  file: "/home/\u202egnp.c<img src=x onerror=window.stolen=2>.c",
  loop: "bound<b onmouseover=window.stolen=3>ary&amp;\u0007\u001b[31m",
  relax: "std::map<int, \"x\">::operator<<(<svg/onload=window.stolen=4>)",
  exchange: "=cmd|' /C calc'!A0\u2066javascript:window.stolen=5\u2069",
  source: "    /* </script><script>window.stolen=6</script> <!-- */ x[i] = \"\\u0000\";\t// \u202e",
  run: "<iframe srcdoc='<script>parent.stolen=7</script>'>",
  note: "<a href='javascript:window.stolen=8'>There</a> were \u0000 more ranks than cores.",
};
