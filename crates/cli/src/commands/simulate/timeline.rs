//! The timeline of a simulated run, with so many slices as viewers can show.

use super::seconds;
use crate::commands::export::{folder, new_file};
use headwater_export::{Messages, Seen, Simulated, Slice};
use headwater_simulate::{Done, Network, Op, Options, simulate};
use headwater_trace::trace::Trace;
use headwater_virtual_run::{Place, Recorded};
use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The most slices that are written.
const MOST: u64 = 1_000_000;

/// How many slices have at least so many nanoseconds, by power of two.
#[derive(Debug)]
pub struct Lengths([u64; 64]);

impl Default for Lengths {
    fn default() -> Self {
        Self([0; 64])
    }
}

impl Lengths {
    /// Counts a slice.
    pub fn add(&mut self, done: &Done) {
        if let Some(count) = self.0.get_mut(power(done)) {
            *count += 1;
        }
    }
}

/// Slices that are not in the file.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut {
    count: u64,
    all: u64,
    /// They are shorter than that, seconds.
    shorter: f64,
}

impl LeftOut {
    /// What a user should know.
    pub fn line(&self, file: &Path) -> String {
        let Self {
            count,
            all,
            shorter,
        } = self;
        match count {
            0 => format!("wrote {}: {all} slices", file.display()),
            _ => format!(
                "wrote {}: {} slices; {count} shorter than {} are left out",
                file.display(),
                all - count,
                seconds(*shorter)
            ),
        }
    }
}

/// Refuses a file that is there, before anything is done.
pub fn check(file: Option<&Path>) -> Result<(), String> {
    match file.filter(|f| f.symlink_metadata().is_ok()) {
        None => Ok(()),
        Some(file) => Err(format!(
            "{} is there already; remove it, or give another file to --timeline",
            file.display()
        )),
    }
}

/// Writes a timeline whose slices have these lengths; `name` names places.
pub fn write(
    file: &Path,
    recorded: &Recorded<'_>,
    network: &Network,
    trace: &Trace,
    lengths: &Lengths,
    name: impl Fn(u32) -> String,
) -> Result<LeftOut, String> {
    let failed = |e: &dyn std::fmt::Display| format!("cannot write {}: {e}", file.display());
    let options = Options {
        critical_path: false,
    };
    let left_out = thin(&lengths.0, MOST);
    let new = new_file(folder(file));
    let new = new.map_err(|e| failed(&e))?;
    let mut out = BufWriter::new(new.as_file());
    let program = trace.modules.values().next().map_or("", String::as_str);
    let mut timeline =
        Simulated::begin(&mut out, program, recorded.streams()).map_err(|e| failed(&e))?;
    let mut names: HashMap<u32, (String, String)> = HashMap::new();
    let mut wrong: Option<io::Error> = None;
    let messages = RefCell::new(Messages::default());
    let see = |done: &Done| {
        let ends = messages.borrow_mut().take(done.stream);
        if wrong.is_some() {
            return;
        }
        if (done.leave - done.enter) < left_out.shorter {
            wrong = timeline.leave_out(&ends).err();
            return;
        }
        let (name, at) = names.entry(done.place).or_insert_with(|| {
            let whole = name(done.place);
            match recorded.places().get(done.place) {
                Some(Place::Call(signature)) => {
                    let function = trace.signatures.get(&signature);
                    (
                        function.map_or(String::new(), |s| s.function.clone()),
                        whole,
                    )
                }
                _ => (whole, String::new()),
            }
        });
        let cause = done.waited_for.filter(|_| done.wait > 0.0);
        let slice = Slice {
            stream: done.stream,
            call: !is_computation(done),
            name,
            at,
            begin: done.enter,
            end: done.leave,
            wait: cause.map(|c| (done.wait, c.rank, c.state.name())),
            messages: &ends,
        };
        wrong = timeline.add(&slice).err();
    };
    let program = Seen::new(recorded.program(), &messages);
    simulate(program, network, options, see).map_err(|e| failed(&e))?;
    if let Some(e) = wrong {
        return Err(failed(&e));
    }
    timeline.end().map_err(|e| failed(&e))?;
    out.flush().map_err(|e| failed(&e))?;
    drop(out);
    let done = new.persist_noclobber(file);
    done.map_err(|e| failed(&e.error))?;
    Ok(left_out)
}

fn is_computation(done: &Done) -> bool {
    matches!(done.op, Op::Compute { .. })
}

/// The power of two of its length in nanoseconds, with 0 for less than one.
fn power(done: &Done) -> usize {
    let nanos = ((done.leave - done.enter) * 1e9) as u64;
    nanos.checked_ilog2().map_or(0, |p| p as usize + 1).min(63)
}

/// Leaves out the shortest, until at most so many remain.
fn thin(lengths: &[u64; 64], most: u64) -> LeftOut {
    let all: u64 = lengths.iter().sum();
    let mut out = LeftOut {
        count: 0,
        all,
        shorter: 0.0,
    };
    for (power, count) in (0i32..).zip(lengths) {
        if all - out.count <= most {
            break;
        }
        out.count += count;
        out.shorter = f64::from(power).exp2() * 1e-9;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_are_left_out() {
        let mut lengths = [0; 64];
        (lengths[0], lengths[3], lengths[5]) = (10, 5, 2);
        assert_eq!(thin(&lengths, 17).count, 0);
        let out = thin(&lengths, 8);
        assert_eq!((out.count, out.shorter), (10, 1e-9));
        let out = thin(&lengths, 2);
        assert_eq!((out.count, out.shorter), (15, 8e-9));
    }
}
