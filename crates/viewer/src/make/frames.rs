//! Vertices of the graph as frames of the page, and the frames of places.
//!
//! A frame is a vertex in which a run spent time or made calls, or one around such a vertex. If there are too many, those
//! with the most time are frames, and the figures of the others are in the frame around them.

use headwater_dataflow::Recorded;
use headwater_dataflow::pass::same_places;
use headwater_graph::VertexIx;
use headwater_graph::view::View;
use headwater_model::diagnosis::Place;
use headwater_model::psg::VertexKind;
use headwater_model::run::CtxId;
use rustc_hash::FxHashMap;

/// What identifies a place.
type Key<'a> = (VertexKind, &'a str, &'a str, u32, u32, &'a str);

/// The frames that all runs share.
#[derive(Debug, Default)]
pub struct Frames {
    /// The vertex of each frame, in program order.
    vertices: Vec<VertexIx>,
    /// The frame of each vertex: its own, or that of the vertex around it.
    of_vertex: Vec<u32>,
    /// By frame.
    places: Vec<Place>,
    /// The frame around each.
    parents: Vec<Option<u32>>,
    /// Whether vertices have no frame of their own because there are too many.
    pub thinned: bool,
}

/// Where the vertices of a graph are among the frames: at one, or without one of their own inside one.
#[derive(Debug)]
pub struct Onto(Vec<Result<u32, u32>>);

impl Onto {
    /// The frame of a vertex, or the frame around it.
    pub fn frame(&self, v: VertexIx) -> Result<u32, u32> {
        self.0.get(v as usize).copied().unwrap_or(Err(0))
    }
}

fn key(place: &Place) -> Key<'_> {
    (
        place.kind,
        &place.module,
        &place.function,
        place.first_line,
        place.last_line,
        &place.name,
    )
}

/// Figures of a column, by vertex.
pub fn figures<'a>(view: &'a View, column: &str) -> impl Fn(VertexIx) -> Option<f64> + 'a {
    let column = view.vertices.get(column);
    move |v| column?.number(v as usize)
}

impl Frames {
    /// The frames of runs on one graph, at most `most`.
    pub fn new(runs: &[Recorded], most: usize) -> Self {
        let Some(first) = runs.first() else {
            return Self::default();
        };
        let pag = first.pag();
        let n = pag.top.vertices.len();
        let parent = |v: usize| pag.top.get(v as VertexIx).parent.map(|p| p as usize);
        // Seconds with everything inside, all runs together.
        let mut total = vec![0.0f64; n];
        let mut seen = vec![false; n];
        super::on_all_cores(runs.len(), |i| {
            runs[i].top_down();
        });
        for run in runs {
            let view = run.top_down();
            let (time, count) = (figures(view, "total"), figures(view, "count"));
            for v in 0..n {
                let seconds = time(v as VertexIx).unwrap_or(0.0);
                total[v] += seconds;
                seen[v] |= seconds > 0.0 || count(v as VertexIx).unwrap_or(0.0) > 0.0;
            }
        }
        for v in (1..n).rev() {
            if let Some(p) = parent(v).filter(|_| seen[v]) {
                seen[p] = true;
            }
        }
        let mut chosen: Vec<usize> = (0..n).filter(|v| *v == 0 || seen[*v]).collect();
        let thinned = chosen.len() > most;
        if thinned {
            // A vertex has at least as much time as those inside it, and a smaller number: what is around a chosen vertex
            // is chosen.
            chosen.sort_by(|a, b| total[*b].total_cmp(&total[*a]).then(a.cmp(b)));
            chosen.truncate(most.max(1));
            if !chosen.contains(&0) {
                chosen.pop();
                chosen.push(0);
            }
        }
        let order = pag.top.program_order();
        chosen.sort_unstable_by_key(|v| order.get(*v).copied());
        let mut of_vertex = vec![u32::MAX; n];
        for (frame, v) in (0..).zip(&chosen) {
            of_vertex[*v] = frame;
        }
        // A parent has a smaller number.
        for v in 0..n {
            if of_vertex[v] == u32::MAX {
                of_vertex[v] = parent(v).map_or(0, |p| of_vertex[p]);
            }
        }
        let vertices: Vec<VertexIx> = chosen.iter().map(|v| *v as VertexIx).collect();
        let parents = chosen.iter().map(|v| parent(*v).map(|p| of_vertex[p]));
        Self {
            parents: parents.collect(),
            places: vertices.iter().map(|v| pag.place(*v)).collect(),
            vertices,
            of_vertex,
            thinned,
        }
    }

    /// The vertices of the graph whose frames these are.
    pub fn own(&self) -> Onto {
        Onto(self.of_vertex.iter().map(|f| Ok(*f)).collect())
    }

    /// The vertices of another build's run, by the places that are the same in `ours`.
    pub fn of_other(&self, ours: &Recorded, other: &Recorded) -> Onto {
        let same = same_places(ours.top_down(), other.top_down());
        let top = &other.pag().top;
        let mut out: Vec<Result<u32, u32>> = Vec::with_capacity(same.len());
        // A parent has a smaller number.
        for (v, same) in same.into_iter().enumerate() {
            let frame = same.and_then(|v| self.of(v));
            let parent = || {
                top.get(v as VertexIx)
                    .parent
                    .and_then(|p| out.get(p as usize))
            };
            let around = || parent().map_or(0, |p| p.unwrap_or_else(|around| around));
            let at = frame.ok_or_else(around);
            out.push(at);
        }
        Onto(out)
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.vertices.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.vertices.is_empty()
    }

    /// The vertices of the frames.
    pub fn vertices(&self) -> &[VertexIx] {
        &self.vertices
    }

    /// The frame of a vertex.
    pub fn of(&self, v: VertexIx) -> Option<u32> {
        self.of_vertex.get(v as usize).copied()
    }

    /// The frame of a call of a run, or −1.
    pub fn of_call(&self, run: &Recorded, ctx: CtxId) -> i32 {
        let vertex = run.on_graph().vertex(ctx);
        vertex.and_then(|v| self.of(v)).map_or(-1, |f| f as i32)
    }

    /// The frame around a frame.
    pub fn parent(&self, frame: u32) -> Option<u32> {
        self.parents.get(frame as usize).copied().flatten()
    }

    /// Where a frame is.
    pub fn place(&self, frame: u32) -> Option<&Place> {
        self.places.get(frame as usize)
    }

    /// Where all frames are.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// The frames of a place, ascending.
    pub fn at(&self, place: &Place) -> Vec<u32> {
        let wanted = key(place);
        let at = |same: &dyn Fn(&Place) -> bool| -> Vec<u32> {
            let all = (0..).zip(&self.places);
            all.filter(|(_, p)| same(p)).map(|(f, _)| f).collect()
        };
        let found = at(&|p| key(p) == wanted && p.address == place.address);
        if !found.is_empty() {
            return found;
        }
        // A place that was moved or merged has the lines of one of its frames at least.
        at(&|p| {
            p.kind == place.kind
                && p.module == place.module
                && p.function == place.function
                && p.first_line == place.first_line
        })
    }

    /// The frames of a place, the one at the end of a call path first.
    pub fn along(&self, place: &Place, path: &[Place]) -> Vec<u32> {
        let mut all = self.at(place);
        let names: FxHashMap<Key<'_>, usize> = (path.iter().map(key)).zip(1..).collect();
        // How many of the frames around it are on the path.
        let score = |frame: u32| {
            let around = std::iter::successors(Some(frame), |f| self.parent(*f));
            let on = around.filter(|f| self.place(*f).is_some_and(|p| names.contains_key(&key(p))));
            on.count()
        };
        all.sort_by_key(|f| (std::cmp::Reverse(score(*f)), *f));
        all
    }
}
