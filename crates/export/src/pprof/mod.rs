//! pprof's format: a gzipped protocol buffer (`profile.proto` of google/pprof).
//!
//! Samples have the time, the waiting in it, MPI calls and their bytes, and the labels `rank` and `thread`. pprof knows
//! functions and lines, not loops: what was spent in a loop has its line. A location is an address with the functions
//! inlined there; of calls on the way it is the call's.

mod message;

use crate::error::ExportError;
use crate::stacks::{Frame, FrameIx, Spent, Stacks};
use crate::wanted::Wanted;
use flate2::{Compression, GzBuilder};
use headwater_dataflow::Recorded;
use headwater_model::psg::VertexKind;
use message::{Function, Label, Line, Location, Mapping, Profile, Sample, ValueType};
use prost::Message;
use rustc_hash::FxHashMap;
use std::io::Write;

/// A value: its type, its unit, its figure.
type Metric = (&'static str, &'static str, fn(&Spent) -> f64);

const METRICS: [Metric; 4] = [
    ("time", "nanoseconds", |s| s.time * 1e9),
    ("waiting", "nanoseconds", |s| s.wait * 1e9),
    ("calls", "count", |s| s.calls),
    ("bytes", "bytes", |s| s.bytes),
];

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let profile = Builder::new(run).profile(run, &Stacks::new(run, wanted));
        // Without a time of its own, so that the same run gives the same bytes.
        let mut gzip = GzBuilder::new()
            .mtime(0)
            .write(&mut *out, Compression::default());
        gzip.write_all(&profile.encode_to_vec())?;
        gzip.finish()?;
    }
    Ok(())
}

/// Where a level of a call path is: an address and line, and the frames from the function on inwards.
struct Level {
    frames: Vec<FrameIx>,
    address: u64,
    line: u32,
}

#[derive(Default)]
struct Builder {
    out: Profile,
    strings: FxHashMap<String, i64>,
    /// Build id by module.
    build_ids: FxHashMap<String, String>,
    mappings: FxHashMap<String, u64>,
    functions: FxHashMap<(String, String, u32), u64>,
    locations: FxHashMap<(Vec<FrameIx>, u64, u32), u64>,
}

impl Builder {
    fn new(run: &Recorded) -> Self {
        let mut this = Self::default();
        this.string("");
        let modules = run.pag().structures.iter();
        this.build_ids = modules
            .map(|(m, _)| (m.path.clone(), m.build_id.clone()))
            .collect();
        this
    }

    fn string(&mut self, text: &str) -> i64 {
        if let Some(id) = self.strings.get(text) {
            return *id;
        }
        let id = self.out.string_table.len() as i64;
        self.out.string_table.push(text.to_string());
        self.strings.insert(text.to_string(), id);
        id
    }

    fn profile(mut self, run: &Recorded, stacks: &Stacks) -> Profile {
        for (name, unit, _) in METRICS {
            let (r#type, unit) = (self.string(name), self.string(unit));
            self.out.sample_type.push(ValueType { r#type, unit });
        }
        self.out.default_sample_type = self.string("time");
        let (rank, thread) = (self.string("rank"), self.string("thread"));
        for track in &stacks.tracks {
            for (frame, spent) in &track.spent {
                let levels = levels(stacks, *frame);
                let location_id = (levels.into_iter().rev())
                    .map(|level| self.location(stacks, level))
                    .collect();
                // Words, as pprof takes a number 0 for none.
                let label = [(rank, track.rank), (thread, track.thread)];
                let label = label.map(|(key, number)| Label {
                    key,
                    str: self.string(&number.to_string()),
                });
                self.out.sample.push(Sample {
                    location_id,
                    value: METRICS.map(|m| m.2(spent).round() as i64).into(),
                    label: label.into(),
                });
            }
        }
        let header = &run.run().header;
        self.out.time_nanos = (header.started_unix * 1e9) as i64;
        self.out.duration_nanos = (header.wall_seconds * 1e9) as i64;
        let comment = self.string(&format!("run {}", header.name));
        self.out.comment.push(comment);
        self.out
    }

    fn location(&mut self, stacks: &Stacks, level: Level) -> u64 {
        let key = (level.frames, level.address, level.line);
        if let Some(id) = self.locations.get(&key) {
            return *id;
        }
        let frames: Vec<&Frame> = (key.0.iter())
            .filter_map(|f| stacks.frames.get(*f as usize))
            .collect();
        let mapping_id = match frames.first() {
            Some(entry) if entry.place.kind == VertexKind::Function => {
                self.mapping(&entry.place.module, key.1)
            }
            _ => 0,
        };
        let mut line = Vec::new();
        let mut at = key.2;
        for frame in frames.into_iter().rev() {
            if frame.place.kind.is_loop() {
                // Where what is inlined in the loop was called is not known; the loop is.
                if at == 0 {
                    at = frame.place.first_line;
                }
                continue;
            }
            let function_id = self.function(frame);
            line.push(Line {
                function_id,
                line: i64::from(std::mem::take(&mut at)),
            });
        }
        let id = self.out.location.len() as u64 + 1;
        self.out.location.push(Location {
            id,
            mapping_id,
            address: if mapping_id > 0 { key.1 } else { 0 },
            line,
        });
        self.locations.insert(key, id);
        id
    }

    /// The mapping of a module, which reaches up to `address` at least.
    fn mapping(&mut self, module: &str, address: u64) -> u64 {
        if module.is_empty() {
            return 0;
        }
        let next = self.out.mapping.len() as u64 + 1;
        let id = *self.mappings.entry(module.to_string()).or_insert(next);
        if id == next {
            let build_id = self.build_ids.get(module).cloned().unwrap_or_default();
            let mapping = Mapping {
                id,
                memory_limit: 0,
                filename: self.string(module),
                build_id: self.string(&build_id),
                has_functions: true,
                has_filenames: true,
                has_line_numbers: true,
                has_inline_frames: true,
            };
            self.out.mapping.push(mapping);
        }
        if let Some(mapping) = self.out.mapping.get_mut(id as usize - 1) {
            mapping.memory_limit = mapping.memory_limit.max(address.saturating_add(1));
        }
        id
    }

    fn function(&mut self, frame: &Frame) -> u64 {
        let is_function = matches!(frame.place.kind, VertexKind::Function | VertexKind::Inlined);
        // What is called elsewhere has no lines here.
        let file = frame.place.file.clone().filter(|_| is_function);
        let file = file.unwrap_or_default();
        let first = if is_function {
            frame.place.first_line
        } else {
            0
        };
        let key = (frame.name.clone(), file, first);
        if let Some(id) = self.functions.get(&key) {
            return *id;
        }
        let id = self.out.function.len() as u64 + 1;
        let (name, filename) = (self.string(&key.0), self.string(&key.1));
        self.out.function.push(Function {
            id,
            name,
            system_name: name,
            filename,
            start_line: i64::from(first),
        });
        self.functions.insert(key, id);
        id
    }
}

/// A call path as functions that were called, outermost first, without the program itself.
fn levels(stacks: &Stacks, frame: FrameIx) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    let path = stacks.path(frame);
    let skip = usize::from(path.len() > 1);
    for ix in path.into_iter().skip(skip) {
        let Some(frame) = stacks.frames.get(ix as usize) else {
            continue;
        };
        let place = &frame.place;
        let is_inside = place.kind.is_loop() || place.kind == VertexKind::Inlined;
        match levels.last_mut() {
            Some(level) if is_inside => {
                level.frames.push(ix);
                (level.address, level.line) = (place.address, place.hot_line);
            }
            around => {
                // A function that was called, or what the program calls: the level around is at the call.
                if let (Some(level), Some((address, line))) = (around, frame.called_at) {
                    (level.address, level.line) = (address, line);
                }
                levels.push(Level {
                    frames: vec![ix],
                    address: place.address,
                    line: if place.kind == VertexKind::Function {
                        place.hot_line
                    } else {
                        0
                    },
                });
            }
        }
    }
    levels
}
