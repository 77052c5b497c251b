//! What is told on standard error while work is going on.
//!
//! Work that takes longer than a moment shows a moving bar on a terminal and one plain line elsewhere;
//! with `--quiet` or `--json` there is neither. While the measured program runs nothing moves: the
//! terminal is the program's, and a bar would tear its output. Warnings are told always.

use crate::output::tell;
use headwater_passes::flow::Event;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work shorter than this is not worth a word.
const MOMENT: Duration = Duration::from_millis(500);
/// Time between two pictures of a moving bar.
const TICK: Duration = Duration::from_millis(100);

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
