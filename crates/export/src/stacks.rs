//! A run as a profile: frames, and what each rank and thread spent in them.
//!
//! Frames are the vertices of the top-down view that people know from call stacks: functions, inlined ones,
//! loops, and calls that leave the program, MPI's above all. What was spent in branches and straight code is
//! spent in the frame around them. Figures come from the parallel view.

use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use headwater_graph::VertexIx;
use headwater_graph::view::Table;
use headwater_model::diagnosis::Place;
use headwater_model::psg::VertexKind;
use headwater_model::{Rank, words};
use std::collections::BTreeMap;

/// Index of a frame in [`Stacks::frames`].
pub(crate) type FrameIx = u32;

/// A frame of a call stack.
#[derive(Clone, Debug)]
pub(crate) struct Frame {
    /// What people read.
    pub(crate) name: String,
    /// Where it is.
    pub(crate) place: Place,
    /// The frame around it, which comes before it.
    pub(crate) parent: Option<FrameIx>,
    /// Address and line of the call that leads here, where there is one.
    pub(crate) called_at: Option<(u64, u32)>,
}

/// What was spent in a frame, without the frames inside it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    /// Seconds, waiting included.
    pub(crate) time: f64,
    /// Seconds waiting for other ranks or threads.
    pub(crate) wait: f64,
    /// MPI calls.
    pub(crate) calls: f64,
    /// Their bytes.
    pub(crate) bytes: f64,
}

impl Spent {
    /// Adds what was spent elsewhere.
    pub(crate) fn add(&mut self, other: &Self) {
        self.time += other.time;
        self.wait += other.wait;
        self.calls += other.calls;
        self.bytes += other.bytes;
    }
}

/// What a rank, or a thread that calls no MPI, spent.
#[derive(Clone, Debug)]
pub(crate) struct Track {
    /// Rank.
    pub(crate) rank: Rank,
    /// Thread; 0 means all of the rank's threads that call MPI.
    pub(crate) thread: u32,
    /// Frames with own figures, in program order.
    pub(crate) spent: Vec<(FrameIx, Spent)>,
}

impl Track {
    /// `rank 3`, `rank 3 thread 1`.
    pub(crate) fn name(&self) -> String {
        match self.thread {
            0 => format!("rank {}", self.rank),
            thread => format!("rank {} thread {thread}", self.rank),
        }
    }
}

/// A run as a profile.
#[derive(Debug)]
pub(crate) struct Stacks {
    /// Frames in program order, so that those inside a frame follow it directly; the first is the program.
    pub(crate) frames: Vec<Frame>,
    /// By rank and thread.
    pub(crate) tracks: Vec<Track>,
    /// The frame of each vertex.
    shown: Vec<FrameIx>,
}

/// Whether a vertex is a frame; `enters`, a function is entered from it.
fn is_frame(place: &Place, enters: bool) -> bool {
    use VertexKind::*;
    match place.kind {
        Function | Inlined | Loop | IrreducibleLoop | MpiCall => true,
        Branch | Comp => false,
        // The function that it enters is a frame of its own.
        Call | ExternalCall | IndirectCall | RecursiveCall | ThreadCall | LockCall => {
            !enters && place.name != place.function
        }
    }
}

/// What people call a place.
pub(crate) fn name(place: &Place) -> String {
    match place.kind {
        kind if kind.is_loop() => format!("loop {}", words::location(place)),
        _ => place.name.clone(),
    }
}

fn sum(of: &Table, column: &str, row: usize) -> f64 {
    let column = of.get(column);
    column.and_then(|c| c.number(row)).unwrap_or(0.0)
}

impl Stacks {
    /// The profile of the ranks that are wanted.
    pub(crate) fn new(run: &Recorded, wanted: &Wanted) -> Self {
        let (frames, shown) = frames(run);
        let view = run.parallel();
        let table = &view.vertices;
        let mut tracks: BTreeMap<(Rank, u32), BTreeMap<FrameIx, Spent>> = BTreeMap::new();
        for row in 0..table.len() {
            let at = |column| sum(table, column, row);
            let (rank, thread) = (at("rank") as Rank, at("thread") as u32);
            let frame = shown.get(at("vertex") as usize).copied();
            let (Some(frame), true) = (frame, wanted.has_rank(rank)) else {
                continue;
            };
            // Of a thread that calls no MPI time is CPU time.
            let asleep = if thread > 0 { at("blocked") } else { 0.0 };
            let wait = at("wait");
            let time = (at("time") + asleep).max(wait);
            if time <= 0.0 && at("count") <= 0.0 {
                continue;
            }
            let of_track = tracks.entry((rank, thread)).or_default();
            of_track.entry(frame).or_default().add(&Spent {
                time,
                wait,
                calls: at("count"),
                bytes: at("bytes"),
            });
        }
        let track = |((rank, thread), spent): (_, BTreeMap<FrameIx, Spent>)| Track {
            rank,
            thread,
            spent: spent.into_iter().collect(),
        };
        Self {
            frames,
            tracks: tracks.into_iter().map(track).collect(),
            shown,
        }
    }

    /// The frames alone.
    pub(crate) fn frames_of(run: &Recorded) -> Self {
        let (frames, shown) = frames(run);
        Self {
            frames,
            tracks: Vec::new(),
            shown,
        }
    }

    /// The call path to a vertex, in words.
    pub(crate) fn path_of(&self, vertex: VertexIx) -> String {
        let frame = self.shown.get(vertex as usize).copied().unwrap_or(0);
        let names: Vec<&str> = (self.path(frame).into_iter())
            .filter_map(|f| self.frames.get(f as usize))
            .map(|f| f.name.as_str())
            .collect();
        names.join(" > ")
    }

    /// The frames around `frame` and itself, outermost first.
    pub(crate) fn path(&self, frame: FrameIx) -> Vec<FrameIx> {
        let up = |f: &FrameIx| self.frames.get(*f as usize).and_then(|f| f.parent);
        let mut path: Vec<FrameIx> = std::iter::successors(Some(frame), up).collect();
        path.reverse();
        path
    }
}

/// The frames in program order, and the frame of each vertex.
fn frames(run: &Recorded) -> (Vec<Frame>, Vec<FrameIx>) {
    let pag = run.pag();
    let order = pag.top.program_order();
    let mut vertices: Vec<u32> = (0..order.len() as u32).collect();
    vertices.sort_unstable_by_key(|v| order.get(*v as usize).copied());
    let mut shown = vec![0; order.len()];
    let mut frames: Vec<Frame> = Vec::new();
    for v in vertices {
        let place = pag.place(v);
        let children = pag.children.get(v as usize).into_iter().flatten();
        let enters = children
            .copied()
            .any(|c| pag.top.get(c).kind == VertexKind::Function);
        // In program order a vertex comes after the one around it.
        let parent = pag.top.get(v).parent;
        let around = parent.and_then(|p| shown.get(p as usize).copied());
        let is = parent.is_none() || is_frame(&place, enters);
        let own = match around {
            Some(around) if !is => around,
            parent => {
                let name = match parent {
                    None => program(run),
                    Some(_) => name(&place),
                };
                let called_at = called_at(run, v, &place);
                frames.push(Frame {
                    name,
                    place,
                    parent,
                    called_at,
                });
                frames.len() as FrameIx - 1
            }
        };
        if let Some(slot) = shown.get_mut(v as usize) {
            *slot = own;
        }
    }
    (frames, shown)
}

/// Where a vertex is called: a function's call is the vertex around it, any other call it is itself.
fn called_at(run: &Recorded, v: VertexIx, place: &Place) -> Option<(u64, u32)> {
    let call = match place.kind {
        VertexKind::Function => {
            let around = run.pag().top.get(v).parent?;
            run.pag().place(around)
        }
        _ => place.clone(),
    };
    call.kind
        .is_call()
        .then_some((call.address, call.first_line))
}

/// The program's file name.
pub(crate) fn program(run: &Recorded) -> String {
    let path = &run.run().header.program;
    path.rsplit('/').next().unwrap_or(path).to_string()
}
