//! Calls, time and bytes of a set of MPI vertices by call site, rank and size of message.

use crate::flow::PassError;
use crate::set::Set;
use headwater_graph::view::Cell;
use headwater_model::report::Item;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Calls of one rank at one site, or of all ranks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sum {
    pub(super) count: f64,
    pub(super) sent: f64,
    pub(super) time: f64,
    pub(super) longest: f64,
    /// Smallest and largest size class of what was sent, if anything was.
    pub(super) classes: Option<(u32, u32)>,
}

impl Sum {
    /// Calls, if they were counted.
    pub(super) fn calls(&self) -> Item {
        (self.count > 0.0).then_some(self.count).into()
    }

    /// Seconds of the longest call, if calls were counted.
    pub(super) fn longest(&self) -> Item {
        (self.count > 0.0).then_some(self.longest).into()
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.count += other.count;
        self.sent += other.sent;
        self.time += other.time;
        self.longest = self.longest.max(other.longest);
        self.classes = match (self.classes, other.classes) {
            (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
            (a, b) => a.or(b),
        };
    }
}

pub(super) struct Site {
    pub(super) function: String,
    pub(super) file: Option<String>,
    pub(super) line: Option<f64>,
    pub(super) parent: Option<String>,
    pub(super) all: Sum,
    pub(super) by_rank: BTreeMap<u32, Sum>,
}

/// Calls of a set of MPI vertices, by site.
pub(super) struct Profile {
    pub(super) sites: Vec<Site>,
    /// Calls by function and size class.
    pub(super) sizes: BTreeMap<(String, u32), Sum>,
    /// Run time of all ranks together, seconds.
    pub(super) app: f64,
    pub(super) ranks: u32,
}

impl Profile {
    pub(super) fn new(set: &Set) -> Result<Self, PassError> {
        let view = set.view();
        let (Some(sizes), Some(ranks)) = (view.table("sizes"), view.table("ranks")) else {
            let what = "it is not of a run's top-down view, which alone has calls by size";
            return Err(PassError::Argument("V".to_string(), what.to_string()));
        };
        let word = |name: &str, v: u32| match set.cell(name, v) {
            Cell::Text(t) => Some(t.to_string()),
            _ => None,
        };
        let figure = |name: &str, v: u32| match set.cell(name, v) {
            Cell::Number(x) => Some(x),
            _ => None,
        };
        // Site of each vertex: its number in the view, and the function called there.
        let mut index: FxHashMap<(u64, String), usize> = FxHashMap::default();
        let mut of_vertex: FxHashMap<u32, usize> = FxHashMap::default();
        let mut sites: Vec<Site> = Vec::new();
        for &v in set.vertices() {
            let function = word("name", v).unwrap_or_default();
            let place = figure("site", v).unwrap_or(f64::from(v)) as u64;
            let next = sites.len();
            let at = *index.entry((place, function.clone())).or_insert(next);
            if at == next {
                sites.push(Site {
                    function,
                    file: word("file", v),
                    line: figure("first_line", v),
                    parent: word("function", v),
                    all: Sum::default(),
                    by_rank: BTreeMap::new(),
                });
            }
            of_vertex.insert(v, at);
        }
        let mut by_size: BTreeMap<(String, u32), Sum> = BTreeMap::new();
        let cell = |name: &str, row: usize| match sizes.cell(name, row) {
            Cell::Number(x) => x,
            _ => 0.0,
        };
        for row in 0..sizes.len() {
            let Some(at) = of_vertex.get(&(cell("vertex", row) as u32)) else {
                continue;
            };
            let class = cell("size_class", row) as u32;
            let sent = cell("sent", row);
            let sum = Sum {
                count: cell("count", row),
                sent,
                time: cell("time", row),
                longest: cell("longest", row),
                classes: (sent > 0.0).then_some((class, class)),
            };
            let site = &mut sites[*at];
            site.all.add(&sum);
            let rank = cell("rank", row) as u32;
            site.by_rank.entry(rank).or_default().add(&sum);
            let size = by_size.entry((site.function.clone(), class)).or_default();
            size.add(&sum);
            // Here all moved bytes count, sent or received.
            size.sent += cell("bytes", row) - sent;
        }
        sites.sort_by(|a, b| b.all.time.total_cmp(&a.all.time));
        let walls = ranks.get("wall");
        let wall = |row| walls.and_then(|w| w.number(row)).unwrap_or(0.0);
        Ok(Self {
            sites,
            sizes: by_size,
            app: (0..ranks.len()).map(wall).sum(),
            ranks: view.header.ranks,
        })
    }

    pub(super) fn mpi(&self) -> f64 {
        self.sites.iter().map(|s| s.all.time).sum()
    }

    /// Sites with their numbers, by a figure, the largest first.
    pub(super) fn by(&self, figure: impl Fn(&Site) -> f64) -> Vec<(usize, &Site)> {
        let mut sites: Vec<(usize, &Site)> = (1..).zip(&self.sites).collect();
        sites.sort_by(|a, b| figure(b.1).total_cmp(&figure(a.1)));
        sites
    }
}
