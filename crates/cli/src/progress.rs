//! What is told on standard error while work is going on.
//!
//! Work that takes longer than a moment shows a moving bar on a terminal and one plain line elsewhere;
//! with `--quiet` or `--json` there is neither. While the measured program runs nothing moves: the
//! terminal is the program's, and a bar would tear its output. While a program runs for long, a line says
//! so now and then. Warnings are always shown.

use crate::output::tell;
use headwater_dataflow::flow::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Work shorter than this is not worth a word.
const MOMENT: Duration = Duration::from_millis(500);
/// Time between two pictures of a moving bar.
const TICK: Duration = Duration::from_millis(100);

/// After so long, a line says for the first time that the program still runs.
const MINUTE: Duration = Duration::from_secs(60);

/// How progress is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Not at all.
    Silent,
    /// In lines.
    Lines,
    /// By something that moves.
    Moving,
}

impl Progress {
    /// As asked for with `--quiet` and `--json`, and as standard error allows.
    pub fn new(quiet: bool, json: bool) -> Self {
        match (quiet || json, std::io::stderr().is_terminal()) {
            (true, _) => Self::Silent,
            (false, true) => Self::Moving,
            (false, false) => Self::Lines,
        }
    }

    /// Tells one line.
    pub fn say(self, line: &str) {
        if self != Self::Silent {
            tell(line);
        }
    }

    /// Does `work`, in which `what` runs and has the terminal: a line says that it goes on after a minute, and each time that
    /// its time has doubled.
    pub fn during<T>(self, what: &str, work: impl FnOnce() -> T) -> T {
        if self == Self::Silent {
            return work();
        }
        let (running, ended) = channel::<()>();
        let what = what.to_string();
        let telling = move || {
            tell_while(&ended, MINUTE, |time| {
                let minutes = time.as_secs() / MINUTE.as_secs();
                tell(&format!("{what} has been running for {minutes} min"));
            });
        };
        // Without it the program runs as well.
        let teller = std::thread::Builder::new().spawn(telling);
        let result = work();
        drop(running);
        let _ = teller.map(JoinHandle::join);
        result
    }

    /// Begins work that consists of `steps`, or of an unknown number if that is 0.
    pub fn stage(self, what: &str, steps: usize) -> Stage {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden())
            .with_message(what.to_string());
        if steps > 0 {
            bar.set_length(steps as u64);
        }
        if self == Self::Silent {
            return Stage { bar, teller: None };
        }
        let (done, ended) = channel();
        let shown = bar.clone();
        let teller = std::thread::spawn(move || {
            if ended.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                self.show(&shown, shown.length().is_some());
                let _ = ended.recv();
            }
        });
        Stage {
            bar,
            teller: Some((done, teller)),
        }
    }

    fn show(self, bar: &ProgressBar, counted: bool) {
        if self == Self::Lines {
            return self.say(&bar.message());
        }
        let form = if counted {
            "{spinner} {msg}: {pos} of {len} {wide_bar}"
        } else {
            "{spinner} {msg} ({elapsed})"
        };
        if let Ok(style) = ProgressStyle::with_template(form) {
            bar.set_style(style);
        }
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(TICK);
    }
}

/// Tells the time when it reaches `first` and whenever it has doubled, until the other end of `ended` is gone.
fn tell_while(ended: &Receiver<()>, first: Duration, tell: impl Fn(Duration)) {
    let start = Instant::now();
    let mut next = first;
    while ended.recv_timeout(next.saturating_sub(start.elapsed())) == Err(RecvTimeoutError::Timeout)
    {
        tell(next);
        next *= 2;
    }
}

/// Work going on; it is over when this is dropped.
#[derive(Debug)]
pub struct Stage {
    bar: ProgressBar,
    teller: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Stage {
    /// One step is done.
    pub fn step(&self) {
        self.bar.inc(1);
    }

    /// A dataflow has come so far.
    pub fn at(&self, event: &Event<'_>) {
        self.bar.set_length(event.of as u64);
        self.bar.set_position(event.done as u64);
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((done, teller)) = self.teller.take() {
            let _ = done.send(());
            let _ = teller.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[test]
    fn a_long_run_is_told_of_ever_more_seldom_until_it_ends() {
        let (running, ended) = channel::<()>();
        let running = Cell::new(Some(running));
        let told = RefCell::new(Vec::new());
        let first = Duration::from_millis(1);
        tell_while(&ended, first, |time| {
            told.borrow_mut().push(time);
            if told.borrow().len() == 3 {
                running.set(None);
            }
        });
        assert_eq!(told.into_inner(), [first, 2 * first, 4 * first]);
    }
}
