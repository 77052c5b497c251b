//! A recorder takes no more memory than it may, whatever the program does: real bytes, with what an allocator takes
//! beside each piece.

#![allow(unsafe_code)]

use headwater_trace::budget::{Budget, USUAL_MEBIBYTES};
use headwater_trace::likeness::Slack;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Frame, Kind, Trace};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

struct Counting;

/// Bytes are those of the process, so tests run one after the other.
static ALONE: Mutex<()> = Mutex::new(());
static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

/// What an allocator such as glibc's takes for a piece of so many bytes.
fn chunk(bytes: usize) -> usize {
    (bytes + 8).next_multiple_of(16).max(32)
}

fn more(bytes: usize) {
    let now = NOW.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(now, Ordering::Relaxed);
}

// SAFETY: the system's allocator; bytes are only counted.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        more(chunk(layout.size()));
        // SAFETY: passed on as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        NOW.fetch_sub(chunk(layout.size()), Ordering::Relaxed);
        // SAFETY: passed on as it came.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // As if both were there for a moment.
        more(chunk(bytes));
        NOW.fetch_sub(chunk(layout.size()), Ordering::Relaxed);
        // SAFETY: passed on as it came.
        unsafe { System.realloc(at, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const LIMIT: usize = (USUAL_MEBIBYTES as usize) << 20;

/// What remains of the 8 MiB of a rank.
const SLACK: usize = 1 << 20;

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % n
    }
}

/// Runs a program of so many events. Returns how many were recorded, and how often all of them were written.
fn run(
    name: &str,
    events: u64,
    mut event: impl FnMut(&mut Recorder, &mut Random, u64),
) -> (u64, u32) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    let mut recorder = Recorder::new(LIMIT, Slack::default());
    let mut copies = 0;
    for n in 0..events {
        if n % (events / 50) == 0 {
            let write = |trace: Trace| drop(trace.to_bytes());
            let trace = Trace::of_rank(0, 1);
            copies += u32::from(recorder.write_copy(trace, (0, 0), false, write));
        }
        event(&mut recorder, &mut random, n);
    }
    let most = MOST.load(Ordering::Relaxed) - before;
    let (kept, lost) = (recorder.events(), recorder.lost());
    println!("{name}: {most} bytes at most, {kept} events, {lost} lost, {copies} copies");
    assert!(most < LIMIT + SLACK, "{name}: {most} bytes");
    assert_eq!(kept + lost, events, "{name}");
    (kept, copies)
}

fn signature(recorder: &mut Recorder, n: u64, depth: u64) -> u32 {
    let frames = (0..depth).map(|module| Frame {
        module,
        offset: n + module,
    });
    let frames: Vec<Frame> = frames.collect();
    recorder.signature("MPI_Send", &[Kind::Plain; 3], &frames)
}

#[test]
fn no_program_makes_a_recorder_take_more_than_it_may() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let delta = Delta::default();
    let many = 60_000;
    let (new, _) = run("new signatures", many, |r, _, n| {
        let s = signature(r, n, 20);
        r.event(s, &[1, 2, 3], delta);
    });
    assert!(new < many && new > 5_000, "{new}");
    run("new deep signatures", 20_000, |r, _, n| {
        let s = signature(r, n, 250);
        r.event(s, &[1, 2, 3], delta);
    });
    let (_, copies) = run("new parameters", many, |r, random, n| {
        let s = signature(r, 0, 3);
        r.event(s, &[n as i64, random.below(1 << 40) as i64, 3], delta);
    });
    assert!(copies >= 4, "{copies} copies");
    run("new long lists", 60, |r, random, _| {
        let s = signature(r, 0, 3);
        let length = random.below(1 << 16);
        let list: Vec<i64> = (0..length).map(|_| random.below(1 << 40) as i64).collect();
        // The list is the program's.
        NOW.fetch_sub(list.capacity() * 8, Ordering::Relaxed);
        let list_number = r.list(&list);
        NOW.fetch_add(list.capacity() * 8, Ordering::Relaxed);
        r.event(s, &[list_number, 2, 3], delta);
    });
    run("new short lists", 50_000, |r, random, n| {
        let s = signature(r, 0, 3);
        let list = r.list(&[n as i64, random.below(99) as i64, 7]);
        r.event(s, &[list, 2, 3], delta);
    });
    run("new texts", 50_000, |r, _, n| {
        let s = signature(r, 0, 3);
        let text = r.text(format!("the text with number {n}").as_bytes());
        r.event(s, &[text, 2, 3], delta);
    });
    for signatures in [3, 40, 700, 20_000] {
        let (kept, copies) = run(
            &format!("{signatures} in random order"),
            30_000,
            |r, random, _| {
                let s = signature(r, random.below(signatures), 5);
                r.event(
                    s,
                    &[random.below(5) as i64, random.below(9) as i64, 3],
                    delta,
                );
            },
        );
        // Most events of the row ran a few times: their histograms alone would take all of the memory.
        let least = match signatures {
            3 => 30_000,
            40 => 24_000,
            700 => 18_500,
            _ => 13_500,
        };
        assert!(kept >= least, "{signatures} signatures: {kept} events");
        assert!(copies >= 2, "{signatures} signatures: {copies} copies");
    }
    // Iterations that are too long to be found: a row of events that each ran once.
    for (events, least, least_copies) in [(60_000, 45_000, 1), (5_000, 5_000, 4)] {
        let (kept, copies) = run("600 signatures in turn", events, |r, _, n| {
            let frames = (0..5).map(|module| Frame {
                module,
                offset: n % 600,
            });
            let frames: Vec<Frame> = frames.collect();
            let s = r.signature("MPI_Sendrecv", &[Kind::Plain; 12], &frames);
            let values: [i64; 12] = std::array::from_fn(|column| ((n % 9) * column as u64) as i64);
            r.event(s, &values, delta);
        });
        assert!(kept >= least && copies >= least_copies, "{kept}, {copies}");
    }
    // Rows of values that come again in the same order: a run of numbers, but no run of values.
    let mut at = 0;
    let (_, copies) = run("known rows in bursts", 200_000, |r, random, n| {
        if n % 100 == 0 {
            at = random.below(100);
        }
        let row = at + n % 100;
        let s = signature(r, 0, 3);
        let drawn = |column: u64| (row * 2654435761 * (column + 3) % 1009) as i64;
        r.event(s, &[drawn(0), drawn(1), drawn(2)], delta);
    });
    assert!(copies >= 2, "{copies} copies");
    // A regular program is recorded whole.
    let regular = run("regular", many, |r, _, n| {
        let s = signature(r, n % 40, 10);
        r.event(s, &[(n % 7) as i64, 2, 3], delta);
    });
    assert_eq!(regular, (many, 50));
}

#[test]
fn recorders_share_their_memory() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let budget = Arc::new(Budget::new(2 << 20));
    let mut recorders = [0, 1].map(|_| Recorder::sharing(budget.clone(), Slack::default()));
    for n in 0..20_000 {
        for recorder in &mut recorders {
            let s = signature(recorder, n, 20);
            recorder.event(s, &[1, 2, 3], Delta::default());
            assert!(recorder.memory() <= 2 << 20);
        }
    }
    let [one, other] = &recorders;
    assert!(one.lost() > 0 && other.lost() > 0 && other.events() > 500);
    assert!(one.memory() + other.memory() + budget.left() <= 2 << 20);
    drop(recorders);
    assert_eq!(budget.left(), 2 << 20, "all of it is given back");
}
