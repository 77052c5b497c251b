//! The Firefox profiler's processed profile, version 48: a thread for each rank and thread, with weights in time.
//!
//! A sample is what was spent in a call path; samples are in program order, one behind the other, so that the stack
//! chart reads like the program. What was waited is a sample of the category "Waiting". See
//! `docs-developer/CHANGELOG-formats.md` and `src/types/profile.ts` of firefox-devtools/profiler.

use crate::error::ExportError;
use crate::stacks::{Frame, Stacks, Track};
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_model::psg::VertexKind;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Categories and their colours; a frame is of one of these.
const CATEGORIES: [(&str, &str); 4] = [
    ("Other", "grey"),
    ("Computation", "green"),
    ("MPI", "blue"),
    ("Waiting", "red"),
];
const WAITING: usize = 3;

fn category(frame: &Frame) -> usize {
    match (frame.parent, frame.place.kind) {
        (None, _) => 0,
        (_, VertexKind::MpiCall) => 2,
        _ => 1,
    }
}

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let stacks = Stacks::new(run, wanted);
        let header = &run.run().header;
        let categories = CATEGORIES
            .map(|(name, color)| json!({"name": name, "color": color, "subcategories": ["Other"]}));
        let meta = json!({
            "categories": categories,
            "debug": false,
            "importedFrom": concat!("headwater ", env!("CARGO_PKG_VERSION")),
            "interval": 1.0,
            "markerSchema": [],
            "preprocessedProfileVersion": 48,
            "processType": 0,
            "product": header.name,
            "sourceCodeIsNotOnSearchfox": true,
            "stackwalk": 1,
            "startTime": header.started_unix * 1e3,
            "symbolicated": true,
            "doesNotUseFrameImplementation": true,
            "usesOnlyOneStackType": true,
            "version": 24,
        });
        write!(out, "{{\"meta\":")?;
        serde_json::to_writer(&mut *out, &meta).map_err(io::Error::from)?;
        write!(
            out,
            ",\"libs\":[],\"pages\":[],\"counters\":[],\"threads\":["
        )?;
        let mut comma = "";
        for (at, track) in stacks.tracks.iter().enumerate() {
            writeln!(out, "{comma}")?;
            let thread = thread(&stacks, track, at);
            serde_json::to_writer(&mut *out, &thread).map_err(io::Error::from)?;
            comma = ",";
        }
        writeln!(out, "\n]}}")?;
    }
    Ok(())
}

/// Frames of one thread: those on its call paths, and each as a stack, whose numbers are theirs.
struct Used<'a> {
    frames: Vec<&'a Frame>,
    prefix: Vec<Option<usize>>,
    /// By frame of the run.
    index: BTreeMap<u32, usize>,
}

impl<'a> Used<'a> {
    fn new(stacks: &'a Stacks, track: &Track) -> Self {
        let mut this = Self {
            frames: Vec::new(),
            prefix: Vec::new(),
            index: BTreeMap::new(),
        };
        for (frame, _) in &track.spent {
            let mut around = None;
            for on_path in stacks.path(*frame) {
                let Some(frame) = stacks.frames.get(on_path as usize) else {
                    continue;
                };
                let next = this.frames.len();
                let at = *this.index.entry(on_path).or_insert(next);
                if at == next {
                    this.frames.push(frame);
                    this.prefix.push(around);
                }
                around = Some(at);
            }
        }
        this
    }
}

/// Words of a thread, by number.
#[derive(Default)]
struct Strings {
    all: Vec<String>,
    index: BTreeMap<String, usize>,
}

impl Strings {
    fn of(&mut self, text: &str) -> usize {
        if let Some(at) = self.index.get(text) {
            return *at;
        }
        let at = self.all.len();
        self.all.push(text.to_string());
        self.index.insert(text.to_string(), at);
        at
    }
}

fn thread(stacks: &Stacks, track: &Track, at: usize) -> Value {
    let used = Used::new(stacks, track);
    let n = used.frames.len();
    let none = |n: usize| vec![Value::Null; n];
    let of = |figure: fn(&Frame) -> Value| -> Vec<Value> {
        used.frames.iter().map(|f| figure(f)).collect()
    };
    // Stacks that wait are twice there: as they are, and in the category of waiting.
    let (mut stack, mut time, mut weight) = (Vec::new(), Vec::new(), Vec::new());
    let (mut waiting, mut now) = (Vec::new(), 0.0);
    for (frame, spent) in &track.spent {
        let Some(&own) = used.index.get(frame) else {
            continue;
        };
        for (seconds, is_wait) in [(spent.time - spent.wait, false), (spent.wait, true)] {
            if seconds <= 0.0 {
                continue;
            }
            stack.push(if is_wait {
                waiting.push(own);
                n + waiting.len() - 1
            } else {
                own
            });
            time.push(now);
            weight.push(seconds * 1e3);
            now += seconds * 1e3;
        }
    }
    let mut strings = Strings::default();
    let names: Vec<usize> = used.frames.iter().map(|f| strings.of(&f.name)).collect();
    let files: Vec<Option<usize>> = (used.frames.iter())
        .map(|f| f.place.file.as_deref().map(|file| strings.of(file)))
        .collect();
    let line = |line: u32| if line > 0 { json!(line) } else { Value::Null };
    let prefix = used.prefix.iter().copied();
    let prefix: Vec<Option<usize>> = prefix
        .chain(
            waiting
                .iter()
                .map(|w| used.prefix.get(*w).copied().flatten()),
        )
        .collect();
    let frame: Vec<usize> = (0..n).chain(waiting.iter().copied()).collect();
    let categories: Vec<usize> = (used.frames.iter())
        .map(|f| category(f))
        .chain(waiting.iter().map(|_| WAITING))
        .collect();
    let all = n + waiting.len();
    json!({
        "name": track.name(),
        "isMainThread": track.thread == 0,
        "processType": "default",
        "processName": format!("rank {}", track.rank),
        "processStartupTime": 0,
        "processShutdownTime": null,
        "registerTime": 0,
        "unregisterTime": null,
        "pausedRanges": [],
        "pid": track.rank.to_string(),
        "tid": at,
        "samples": {
            "length": stack.len(),
            "stack": stack,
            "time": time,
            "weight": weight,
            "weightType": "tracing-ms",
        },
        "stackTable": {
            "length": all,
            "frame": frame,
            "prefix": prefix,
            "category": categories,
            "subcategory": vec![0; all],
        },
        "frameTable": {
            "length": n,
            "address": vec![-1; n],
            "inlineDepth": of(|f| json!(u8::from(f.place.kind == VertexKind::Inlined))),
            "category": of(|f| json!(category(f))),
            "subcategory": vec![0; n],
            "func": (0..n).collect::<Vec<usize>>(),
            "nativeSymbol": none(n),
            "innerWindowID": none(n),
            "implementation": none(n),
            "line": used.frames.iter().map(|f| line(f.place.hot_line)).collect::<Vec<Value>>(),
            "column": none(n),
        },
        "funcTable": {
            "length": n,
            "name": names,
            "isJS": vec![false; n],
            "relevantForJS": vec![false; n],
            "resource": vec![-1; n],
            "fileName": files,
            "lineNumber": used.frames.iter().map(|f| line(f.place.first_line)).collect::<Vec<Value>>(),
            "columnNumber": none(n),
        },
        "nativeSymbols": {"length": 0, "address": [], "functionSize": [], "libIndex": [], "name": []},
        "resourceTable": {"length": 0, "lib": [], "name": [], "host": [], "type": []},
        "markers": {
            "length": 0, "category": [], "data": [], "endTime": [], "name": [], "phase": [],
            "startTime": []
        },
        "stringArray": strings.all,
    })
}
