//! Traces in which some parameters are histograms (ScalaTrace II, section 3.1).
//!
//! A recorder may be told which parameters it may give up, and from how many terms on. The values of such a parameter, in
//! the order of the calls of one signature, are compressed as a vector. Once the vector has more terms than allowed, all
//! values of the parameter at this signature, the earlier ones too, are a histogram, and an event has [`LOST`] in place
//! of its value. So memory for irregular parameters is bounded, and a trace does not grow with them.

use crate::elastic::Form;
use crate::histogram::ParameterHistogram;
use crate::trace::{Kind, Trace};
use crate::vector::{Term, Vector};
use std::collections::BTreeMap;

/// In place of a value that is in a histogram. No parameter has it.
pub const LOST: i64 = -0x4c6f_7374;

/// Which parameters a recorder may give up.
#[derive(Clone, Copy, Debug)]
pub struct Lossy {
    /// A vector of values may have so many terms before it becomes a histogram.
    pub terms: usize,
    /// By function: a bit for each of its values that may be a histogram.
    pub columns: fn(&str) -> u64,
}

/// Where a histogram belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Where {
    /// Identity of the signature.
    pub signature: u64,
    /// Position of the value.
    pub column: u32,
    /// Whether ranks of a communicator are relative to the own one.
    pub relative: bool,
}

/// The histograms of a trace, over all ranks that have [`LOST`] there.
pub type Histograms = BTreeMap<Where, ParameterHistogram>;

/// What a recorder knows of the parameters of a signature that it may give up.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    columns: Vec<Watched>,
    /// The communicator of all events, as long as it is one.
    comm: Option<i64>,
    /// Position of the communicator.
    comm_at: Option<usize>,
    events: u64,
    /// Bytes that were asked for.
    pub charged: usize,
}

#[derive(Clone, Debug)]
struct Watched {
    at: usize,
    is_peer: bool,
    values: Column,
}

#[derive(Clone, Debug)]
enum Column {
    Exact(Vector),
    Lost(ParameterHistogram),
}

impl Watch {
    /// Of a signature; `None` if it has no parameter that may be given up.
    pub fn of(lossy: Lossy, function: &str, kinds: &[Kind]) -> Option<Box<Self>> {
        let may = (lossy.columns)(function);
        let is_number = |kind: &Kind| matches!(kind, Kind::Plain | Kind::Peer);
        let columns: Vec<_> = (0..kinds.len().min(64))
            .filter(|at| may >> at & 1 == 1 && kinds.get(*at).is_some_and(is_number))
            .map(|at| Watched {
                at,
                is_peer: kinds.get(at) == Some(&Kind::Peer),
                values: Column::Exact(Vector::default()),
            })
            .collect();
        (!columns.is_empty()).then(|| {
            Box::new(Self {
                columns,
                comm: None,
                comm_at: kinds.iter().position(|kind| *kind == Kind::Comm),
                events: 0,
                charged: 0,
            })
        })
    }

    /// Bytes of memory.
    pub fn memory(&self) -> usize {
        let columns = self.columns.iter().map(|column| match &column.values {
            Column::Exact(vector) => vector.memory(),
            Column::Lost(_) => ParameterHistogram::MEMORY,
        });
        size_of::<Self>() + size_of_val(&*self.columns) + columns.sum::<usize>()
    }

    /// What one more event adds to the memory at most.
    pub fn more(&self) -> usize {
        self.columns.len() * (ParameterHistogram::MEMORY + 2 * size_of::<Term>())
    }

    /// Takes note of the values of an event, and writes [`LOST`] where they are in histograms. Returns whether memory may
    /// have changed.
    pub fn see(&mut self, terms: usize, values: &mut [i64]) -> bool {
        let comm = self.comm_at.and_then(|at| values.get(at).copied());
        if self.events == 0 {
            self.comm = comm;
        } else if self.comm != comm {
            (self.comm, self.comm_at) = (None, None);
        }
        self.events += 1;
        let mut changed = false;
        for column in &mut self.columns {
            let Some(value) = values.get_mut(column.at) else {
                continue;
            };
            // Other numbers below 0 say that there is no value.
            let counts = |value: i64| column.is_peer || value >= 0;
            match &mut column.values {
                Column::Exact(vector) => {
                    let before = vector.terms().len();
                    vector.push(*value);
                    let now = vector.terms().len();
                    changed |= now != before;
                    if now <= terms || !counts(*value) {
                        continue;
                    }
                    let mut all = ParameterHistogram::default();
                    // Of very many values: in a call of MPI, the work is that of the terms.
                    count_terms(vector.terms(), 1, &mut |value, count| {
                        if counts(value) {
                            all.add_all(value, count);
                        }
                    });
                    column.values = Column::Lost(all);
                }
                Column::Lost(all) if counts(*value) => all.add(*value),
                Column::Lost(_) => {}
            }
            *value = LOST;
        }
        changed
    }

    /// Whether the values at a position are in a histogram.
    pub fn has_lost(&self, column: usize) -> bool {
        let lost = |one: &Watched| one.at == column && matches!(one.values, Column::Lost(_));
        self.columns.iter().any(lost)
    }

    /// Adds the histograms to the trace of `rank`. Ranks are relative to the own one where that is known.
    pub fn finish(&self, identity: u64, trace: &mut Trace, rank: u32) {
        let place = self.comm.and_then(|comm| trace.place(comm, rank));
        for column in &self.columns {
            let Column::Lost(all) = &column.values else {
                continue;
            };
            let relative = place.filter(|place| column.is_peer && all.max < place.size);
            let relative = relative.and_then(|place| all.map(|r| Form::Relative.of(r, place)));
            let place = Where {
                signature: identity,
                column: column.at as u32,
                relative: relative.is_some(),
            };
            let mine = trace.histograms.entry(place).or_default();
            mine.merge(relative.as_ref().unwrap_or(all));
        }
    }
}

impl Trace {
    /// Whether some parameters are histograms.
    pub fn is_lossy(&self) -> bool {
        !self.histograms.is_empty()
    }

    /// Functions with parameters that are histograms, by name.
    pub fn lossy_functions(&self) -> Vec<&str> {
        let places = self.histograms.keys();
        let signatures = places.filter_map(|place| self.signatures.get(&place.signature));
        let names: std::collections::BTreeSet<&str> =
            signatures.map(|s| s.function.as_str()).collect();
        names.into_iter().collect()
    }

    /// The histograms of a value of a signature: relative to the own rank, and not.
    pub fn histograms_of(&self, signature: u64, column: u32) -> [Option<&ParameterHistogram>; 2] {
        [true, false].map(|relative| {
            self.histograms.get(&Where {
                signature,
                column,
                relative,
            })
        })
    }
}
/// Passes on each value of terms that are repeated so often, and how often it is there.
fn count_terms(terms: &[Term], times: u64, add: &mut impl FnMut(i64, u64)) {
    for term in terms {
        match term {
            Term::Run {
                first,
                stride: 0,
                count,
            } => add(*first, times.saturating_mul(*count)),
            Term::Run {
                first,
                stride,
                count,
            } => (0..*count)
                .for_each(|i| add(first.wrapping_add(stride.wrapping_mul(i as i64)), times)),
            Term::Loop { body, times: more } => count_terms(body, times.saturating_mul(*more), add),
        }
    }
}
