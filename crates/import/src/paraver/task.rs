//! One task of a trace: the events of its threads, moment by moment, to a rank.

use super::mail::Mail;
use super::openmp::Fork;
use super::places::Places;
use super::thread::{Around, Known, News, TaskThread};
use crate::ImportError;
use crate::links::MANY_LINKS;
use crate::pauses::Why;
use crate::rank;
use crate::thread::{Rows, Shared};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::path::Path;

/// One task.
pub struct Task<'a> {
    /// What its threads share.
    shared: Shared<'a>,
    me: u32,
    /// Messages of threads that have not begun.
    mail: FxHashMap<u32, Mail>,
    threads: BTreeMap<u32, TaskThread>,
    /// The moment that is not over, and the threads that tell something of it.
    moment: u64,
    touched: Vec<u32>,
    fork: (Option<Fork>, usize),
}

impl<'a> Task<'a> {
    /// Task `me`, of which nothing is read, with the messages of its threads.
    pub fn new(me: u32, shared: Shared<'a>, mut mail: FxHashMap<u32, Mail>) -> Self {
        let first = TaskThread::new(me, true, mail.remove(&0).unwrap_or_default());
        Self {
            shared,
            me,
            mail,
            threads: BTreeMap::from([(0, first)]),
            moment: 0,
            touched: Vec::new(),
            fork: (None, 0),
        }
    }

    /// How many threads have records.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// The events of a thread at `time` of the trace, to which more are added.
    pub fn events(
        &mut self,
        known: Known<'_>,
        places: &mut Places<'_>,
        (number, time): (u32, u64),
    ) -> &mut Vec<(u64, u64)> {
        if time != self.moment {
            self.flush(known, places);
            self.moment = time;
        }
        if self.touched.last() != Some(&number) {
            self.touched.push(number);
        }
        if !self.threads.contains_key(&number) {
            let mut new = TaskThread::new(
                self.me,
                false,
                self.mail.remove(&number).unwrap_or_default(),
            );
            // Recording is switched for the whole process.
            if let Some(first) = self.threads.get(&0) {
                new.thread.pauses.off_with(&first.thread.pauses);
                if first.thread.pauses.is_off() {
                    new.thread.pauses.begin(Why::Off, known.ns(time));
                }
            }
            self.threads.insert(number, new);
        }
        let thread = self.threads.entry(number);
        &mut thread
            .or_insert_with(|| TaskThread::new(self.me, false, Mail::default()))
            .pairs
    }

    /// The moment is over.
    pub fn flush(&mut self, known: Known<'_>, places: &mut Places<'_>) {
        let mut touched = std::mem::take(&mut self.touched);
        // The first thread makes the teams that others come to.
        touched.sort_unstable();
        touched.dedup();
        let mut news = Vec::new();
        for number in &touched {
            if let Some(thread) = self.threads.get_mut(number) {
                let mut around = Around {
                    known,
                    places: &mut *places,
                    shared: &mut self.shared,
                    fork: &mut self.fork,
                };
                thread.flush(&mut around, self.moment);
                news.extend(thread.news.drain(..).map(|(ns, n)| (*number, ns, n)));
            }
        }
        for (by, ns, new) in news {
            self.tell(by, ns, new);
        }
        touched.clear();
        self.touched = touched;
        if self.shared.links.len() >= MANY_LINKS && !self.threads.values().any(TaskThread::in_call)
        {
            self.settle();
        }
    }

    /// What a thread says reaches the others.
    fn tell(&mut self, by: u32, ns: u64, new: News) {
        for (_, other) in self.threads.iter_mut().filter(|(number, _)| **number != by) {
            match new {
                News::Recording(on) => other.recorded(&mut self.shared, ns, Why::Off, on),
                News::Begins => other.thread.forget(),
                News::Joined if other.open.is_of_team() => other.out(&mut self.shared, ns),
                News::Joined => {}
            }
        }
    }

    /// Links of messages get their numbers.
    fn settle(&mut self) {
        let ids = self.shared.links.settle();
        for thread in self.threads.values_mut() {
            thread
                .thread
                .settle(&ids, &mut self.shared.sampling.borrow_mut());
        }
    }

    /// The rows of its threads, the first one of which comes first.
    ///
    /// # Errors
    /// A thread whose times cannot be.
    pub fn end(self, path: &Path) -> Result<(Vec<Rows>, Shared<'a>), ImportError> {
        let Self {
            threads,
            mut shared,
            ..
        } = self;
        let mut all = Vec::new();
        for thread in threads.into_values() {
            if let Some(why) = thread.thread.damage() {
                return Err(ImportError::damaged(path, why));
            }
            all.push(thread.thread);
        }
        let rows = rank::rows(all, &mut shared);
        Ok((rows, shared))
    }
}
