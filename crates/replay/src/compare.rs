//! Whether two traces are the same to a replay: the same calls with the same parameters on each rank.
//!
//! The trace of a replay is so compared with what was replayed. Call paths and times differ. Two parameters do as well:
//! files have other names, and memory of an absolute address (`MPI_BOTTOM`) is any memory.

use crate::computation::Pace;
use crate::resolve::{Step, Steps, Value, ahead};
use crate::threads;
use headwater_mpi_abi::constants::buffer;
use headwater_mpi_abi::{FUNCTIONS, Kind, fields, may_be_left_out, replayable};
use headwater_trace::trace::Trace;

/// The first difference, for people; `None` if there is none.
pub fn difference(one: &Trace, other: &Trace) -> Option<String> {
    if one.size != other.size {
        return Some(format!("{} ranks and {}", one.size, other.size));
    }
    (0..one.size).find_map(|rank| of_rank(one, other, rank))
}

/// Threads have other numbers: each one is compared with the first that is left and does the same.
fn of_rank(one: &Trace, other: &Trace, rank: u32) -> Option<String> {
    let mut left = threads::of_rank(other, rank);
    let threads = threads::of_rank(one, rank);
    if threads.len() != left.len() {
        let (here, there) = (threads.len(), left.len());
        return Some(format!("rank {rank}: {here} threads and {there}"));
    }
    threads.into_iter().find_map(|thread| {
        let difference = |with: &u32| of_thread((one, thread), (other, *with), rank);
        let found: Vec<Option<String>> = left.iter().map(difference).collect();
        match found.iter().position(Option::is_none) {
            Some(same) => {
                left.remove(same);
                None
            }
            None => found.into_iter().next().flatten(),
        }
    })
}

fn of_thread(one: (&Trace, u32), other: (&Trace, u32), rank: u32) -> Option<String> {
    let threads = one.0.streams.len() > 1;
    let ahead = |(trace, thread)| ahead(trace, rank, thread);
    let mut first = Steps::new(one.0, (rank, one.1), ahead(one), Pace::Mean);
    let mut second = Steps::new(other.0, (rank, other.1), ahead(other), Pace::Mean);
    let mut number = 0u64;
    loop {
        let (a, b) = (next(&mut first), next(&mut second));
        match (&a, &b) {
            (None, None) => return None,
            (Some(a), Some(b)) if are_same(a, b, threads) => {}
            _ => {
                let [a, b] = [a, b].map(|s| s.map_or("nothing".to_owned(), |s| text(&s)));
                return Some(format!("rank {rank}, call {number}: {a}; {b}"));
            }
        }
        number += 1;
    }
}

/// The next step that a replay makes.
fn next(steps: &mut Steps) -> Option<Step> {
    loop {
        let step = steps.next()?;
        let id = step.function;
        if replayable(id).is_ok() || !may_be_left_out(id) {
            return Some(step.clone());
        }
    }
}

/// With several threads, numbers of requests depend on the order between them.
fn are_same(a: &Step, b: &Step, threads: bool) -> bool {
    let all = fields(a.function);
    let values = || all.iter().zip(a.values.iter().zip(&b.values));
    let is_same = |kind, name: &str, a: &Value, b: &Value| match kind {
        Kind::Buffer => {
            let in_place = |v: &Value| (v.number() < 0, *v == Value::Number(buffer::IN_PLACE));
            in_place(a) == in_place(b)
        }
        Kind::Request | Kind::NewRequest | Kind::Requests if threads => true,
        Kind::Text if name == "filename" => true,
        _ => a == b,
    };
    a.function == b.function
        && a.values.len() == b.values.len()
        && values().all(|(field, (a, b))| is_same(field.kind, field.name, a, b))
}

fn text(step: &Step) -> String {
    let name = FUNCTIONS
        .get(usize::from(step.function))
        .map_or("an unknown call", |f| f.name);
    let values = fields(step.function).iter().zip(&step.values);
    let values = values.map(|(field, value)| match value {
        Value::Number(n) => format!("{} {n}", field.name),
        Value::List(list) => format!("{} {list:?}", field.name),
        Value::Text(text) => format!("{} {}", field.name, String::from_utf8_lossy(text)),
    });
    format!("{name}({})", values.collect::<Vec<_>>().join(", "))
}
