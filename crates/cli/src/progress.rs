//! Progress on standard error while work is going on.
//!
//! Work that takes longer than a moment shows a moving bar on a terminal and one plain line elsewhere;
//! with `--quiet` or `--json` there is neither. While the measured program runs nothing moves: the
//! terminal is the program's, and a bar would tear its output. While a program runs for long, a line says
//! so now and then. Warnings are always shown.

use crate::output::eprint_line;
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

/// How progress is shown.
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

    /// Prints one line on standard error.
    pub fn say(self, line: &str) {
        if self != Self::Silent {
            eprint_line(line);
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
        let reporting = move || {
            report_while_running(&ended, MINUTE, |time| {
                let minutes = time.as_secs() / MINUTE.as_secs();
                eprint_line(&format!("{what} has been running for {minutes} min"));
            });
        };
        // Without it the program runs as well.
        let reporter = std::thread::Builder::new().spawn(reporting);
        let result = work();
        drop(running);
        let _ = reporter.map(JoinHandle::join);
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
            return Stage {
                bar,
                reporter: None,
            };
        }
        let (done, ended) = channel();
        let shown = bar.clone();
        let reporter = std::thread::spawn(move || {
            if ended.recv_timeout(MOMENT) == Err(RecvTimeoutError::Timeout) {
                self.show(&shown, shown.length().is_some());
                let _ = ended.recv();
            }
        });
        Stage {
            bar,
            reporter: Some((done, reporter)),
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

/// Reports the time when it reaches `first` and whenever it has doubled, until the other end of `ended` is gone.
fn report_while_running(ended: &Receiver<()>, first: Duration, report: impl Fn(Duration)) {
    let start = Instant::now();
    let mut next = first;
    while ended.recv_timeout(next.saturating_sub(start.elapsed())) == Err(RecvTimeoutError::Timeout)
    {
        report(next);
        next *= 2;
    }
}

/// Work going on; it is over when this is dropped.
#[derive(Debug)]
pub struct Stage {
    bar: ProgressBar,
    reporter: Option<(Sender<()>, JoinHandle<()>)>,
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
        if let Some((done, reporter)) = self.reporter.take() {
            let _ = done.send(());
            let _ = reporter.join();
        }
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};

    #[test]
    fn a_long_run_is_reported_ever_more_seldom_until_it_ends() {
        let (running, ended) = channel::<()>();
        let running = Cell::new(Some(running));
        let reported = RefCell::new(Vec::new());
        let first = Duration::from_millis(1);
        report_while_running(&ended, first, |time| {
            reported.borrow_mut().push(time);
            if reported.borrow().len() == 3 {
                running.set(None);
            }
        });
        assert_eq!(reported.into_inner(), [first, 2 * first, 4 * first]);
    }
}
