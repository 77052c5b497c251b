//! What cannot be replayed, named before anything starts. Every rank finds the same, as all have the whole trace.

use crate::error::Error;
use crate::library::Mpi;
use headwater_mpi_abi::constants::{UNKNOWN, native};
use headwater_mpi_abi::{Kind, fields, id_of, may_be_left_out, predefined, replayable};
use headwater_trace::ranks::Ranks;
use headwater_trace::trace::{Body, Event, Node, Trace};
use headwater_trace::vector::{Term, Vector};

const UNKNOWN_HANDLE: &str = "it uses a handle, a list or a text that was not recorded";

/// Whether a trace has all that a replay needs.
///
/// # Errors
/// What is missing, or which function cannot be replayed.
pub fn trace(trace: &Trace) -> Result<(), Error> {
    let (there, size) = (trace.ranks.len(), trace.size);
    if let Some(first) = (0..size).find(|rank| !trace.ranks.contains(*rank)) {
        return Err(Error::MissingRanks { first, there, size });
    }
    if let Some(loss) = trace.losses.first() {
        let (rank, kept, lost) = (loss.rank, loss.kept, loss.lost);
        return Err(match lost {
            0 => Error::Ended { rank, kept },
            _ => Error::NotWhole { rank, kept, lost },
        });
    }
    for (identity, signature) in &trace.signatures {
        let refused = |why| Error::Refused {
            function: signature.function.clone(),
            rank: caller(trace, *identity),
            why,
        };
        let id = id_of(&signature.function)
            .ok_or_else(|| refused("it is no function of MPI"))?
            .0;
        match replayable(id) {
            Err(why) if !may_be_left_out(id) => return Err(refused(why)),
            _ => {}
        }
    }
    let mut found = Ok(());
    visit(trace, &mut |function, rank, kind, value| {
        if value == UNKNOWN && is_reference(kind) && kind != Kind::Errhandler && found.is_ok() {
            found = Err(Error::Refused {
                function: function.to_owned(),
                rank,
                why: UNKNOWN_HANDLE,
            });
        }
    });
    found
}

/// Whether a library has all functions and constants of a trace.
///
/// # Errors
/// What it lacks.
pub fn library(trace: &Trace, mpi: &Mpi) -> Result<(), Error> {
    let lacks = |what: &str, rank: u32| Error::Lacks {
        library: mpi.name.clone(),
        what: what.to_owned(),
        rank,
    };
    for (identity, signature) in &trace.signatures {
        let left_out = id_of(&signature.function).is_some_and(|id| may_be_left_out(id.0));
        if !left_out && mpi.function(&signature.function) == 0 {
            return Err(lacks(&signature.function, caller(trace, *identity)));
        }
    }
    let mut found = Ok(());
    visit(trace, &mut |function, rank, kind, value| {
        if found.is_err() {
            return;
        }
        let handle = kind.handle();
        if let Some(known) = predefined(handle, value)
            && !kind.is_new()
            && mpi.predefined(handle, value).is_none()
        {
            found = Err(lacks(known.name, rank));
        } else if is_constant(kind) && native(mpi.abi, kind, value).is_none() {
            let name = headwater_mpi_abi::constants::names(kind, value).next();
            let other = format!("counterpart of a constant that {function} is called with");
            found = Err(lacks(name.unwrap_or(&other), rank));
        }
    });
    found
}

/// Whether a value refers to something that was not recorded, if it is unknown.
fn is_reference(kind: Kind) -> bool {
    use Kind::*;
    let handle = matches!(
        kind.handle(),
        Comm | Datatype | Op | Group | Window | File | Info | Errhandler | Request | Message
    );
    handle && !kind.is_new() || kind.is_list() || kind == Text
}

fn is_constant(kind: Kind) -> bool {
    use Kind::*;
    matches!(
        kind,
        Amode
            | Assert
            | Lock
            | SplitType
            | Whence
            | Order
            | Distributions
            | Typeclass
            | ThreadLevel
    )
}

/// The smallest rank of a set.
fn first(ranks: &Ranks) -> Option<u32> {
    ranks.blocks().iter().map(|block| block.start).min()
}

/// The first rank that calls a function, by the identity of its signature.
fn caller(trace: &Trace, signature: u64) -> u32 {
    fn of(row: &[Node], signature: u64) -> Option<u32> {
        row.iter().find_map(|node| match &node.body {
            Body::Loop(row) => of(row, signature),
            Body::Event(event) if event.signature == signature => {
                let ranks = node
                    .trips
                    .parts
                    .iter()
                    .filter_map(|part| first(&part.ranks));
                ranks.min()
            }
            Body::Event(_) => None,
        })
    }
    let found = trace.streams.values().find_map(|row| of(row, signature));
    found.unwrap_or(0)
}

/// Is shown a function, the first rank that calls it so, a kind and a value.
type See<'a> = &'a mut dyn FnMut(&str, u32, Kind, i64);

/// Shows the values of all events, and of their lists, to `see`. Equal values may come once.
fn visit(trace: &Trace, see: See) {
    for node in trace.streams.values().flatten() {
        visit_node(trace, node, see);
    }
}

fn visit_node(trace: &Trace, node: &Node, see: See) {
    match &node.body {
        Body::Loop(row) => row.iter().for_each(|node| visit_node(trace, node, see)),
        Body::Event(event) => visit_event(trace, event, see),
    }
}

fn visit_event(trace: &Trace, event: &Event, see: See) {
    let Some(signature) = trace.signatures.get(&event.signature) else {
        return;
    };
    let function = signature.function.as_str();
    let Some(id) = id_of(function).filter(|id| !may_be_left_out(id.0)) else {
        return;
    };
    for (field, elastic) in fields(id.0).iter().zip(&event.values) {
        if !is_reference(field.kind) && !is_constant(field.kind) {
            continue;
        }
        for part in &elastic.parts {
            let rank = first(&part.ranks).unwrap_or(0);
            values(part.values.terms(), &mut |value| {
                let element = field.kind.element();
                if element.is_none() || value == UNKNOWN {
                    see(function, rank, field.kind, value);
                }
                if let (Some(element), Some(list)) = (element, trace.lists.get(&value)) {
                    visit_list(function, rank, (field.kind, element), list, see);
                }
            });
        }
    }
}

fn visit_list(function: &str, rank: u32, (kind, element): (Kind, Kind), list: &Vector, see: See) {
    let kind = if is_constant(kind) { kind } else { element };
    if is_reference(kind) || is_constant(kind) {
        values(list.terms(), &mut |value| see(function, rank, kind, value));
    }
}

/// The values of a vector; those that are repeated only once.
fn values(terms: &[Term], see: &mut dyn FnMut(i64)) {
    for term in terms {
        match term {
            Term::Run {
                first, stride: 0, ..
            } => see(*first),
            Term::Run {
                first,
                stride,
                count,
            } => {
                for i in 0..*count {
                    see(first.wrapping_add(stride.wrapping_mul(i as i64)));
                }
            }
            Term::Loop { body, .. } => values(body, see),
        }
    }
}
