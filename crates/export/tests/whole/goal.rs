//! Schedules, run by the plainest reader of the language: on an ideal network they take as long as our simulation.

use crate::traces::{RANKS, collectives, messages};
use headwater_export::whole::goal::Goal;
use headwater_simulate::{Network, Options, simulate};
use headwater_trace::trace::Trace;
use headwater_virtual_run::Recorded;
use std::collections::HashMap;

/// An operation: its words, and what it requires.
type Operation = (Vec<String>, Vec<usize>);

/// Sender, receiver, tag.
type Channel<'a> = (usize, usize, &'a str);

fn schedule(trace: &Trace) -> (String, Vec<String>) {
    let recorded = Recorded::of(trace).expect("a trace");
    let mut out = Vec::new();
    let mut all = Goal::new(&recorded, || ()).expect("all ranks");
    all.write(&mut out, || ()).expect("it is written");
    (String::from_utf8(out).expect("text"), all.notes())
}

/// The operations of each rank.
fn parse(text: &str) -> Vec<Vec<Operation>> {
    let mut ranks: Vec<Vec<Operation>> = Vec::new();
    let label = |word: &str| {
        word.trim_start_matches('l')
            .trim_end_matches(':')
            .parse::<usize>()
    };
    for line in text.lines().filter(|l| !l.is_empty() && *l != "}") {
        let words: Vec<&str> = line.split(' ').collect();
        match *words {
            ["num_ranks", n] => assert_eq!(n.parse(), Ok(RANKS)),
            ["rank", n, "{"] => {
                assert_eq!(n.parse(), Ok(ranks.len()));
                ranks.push(Vec::new());
            }
            [after, "requires", before] => {
                let rank = ranks.last_mut().expect("a rank");
                assert_eq!(label(after), Ok(rank.len()), "of the last operation");
                let before = label(before).expect("a label") - 1;
                assert!(before + 1 < rank.len(), "what is there");
                rank.last_mut().expect("an operation").1.push(before);
            }
            [name, ref rest @ ..] => {
                let rank = ranks.last_mut().expect("a rank");
                assert_eq!(label(name), Ok(rank.len() + 1));
                let words = rest.iter().map(|w| (*w).to_string()).collect();
                rank.push((words, Vec::new()));
            }
            [] => {}
        }
    }
    ranks
}

/// When the last operation ends on a network without costs, nanoseconds.
fn run(ranks: &[Vec<Operation>]) -> u64 {
    let mut ends: Vec<Vec<Option<u64>>> = ranks.iter().map(|r| vec![None; r.len()]).collect();
    // By sender, receiver and tag, in the order of the file: ends of sends, and lengths.
    let mut channels: HashMap<Channel, Vec<(usize, &str)>> = HashMap::new();
    for (rank, operations) in ranks.iter().enumerate() {
        for (i, (words, _)) in operations.iter().enumerate() {
            if let [send, bytes, _, to, _, tag] = &words[..]
                && send == "send"
            {
                let channel = (rank, to.parse().expect("a rank"), tag.as_str());
                channels.entry(channel).or_default().push((i, bytes));
            }
        }
    }
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for (rank, operations) in ranks.iter().enumerate() {
            let mut received: HashMap<(usize, &str), usize> = HashMap::new();
            for (i, (words, required)) in operations.iter().enumerate() {
                let mut other = Some(0);
                if let [recv, bytes, _, from, _, tag] = &words[..]
                    && recv == "recv"
                {
                    let from: usize = from.parse().expect("a rank");
                    let nth = received.entry((from, tag)).or_default();
                    let (send, sent) = channels[&(from, rank, tag.as_str())][*nth];
                    assert_eq!(sent, bytes, "both ends agree");
                    *nth += 1;
                    other = ends[from][send];
                }
                let own = required.iter().map(|r| ends[rank][*r]);
                let Some(begin) = own.chain([other]).try_fold(0, |max, e| Some(e?.max(max))) else {
                    continue;
                };
                let work = match &words[..] {
                    [calc, n] if calc == "calc" => n.parse().expect("nanoseconds"),
                    _ => 0,
                };
                moved |= ends[rank][i].replace(begin + work).is_none();
            }
        }
    }
    let all = ends.iter().flatten();
    all.map(|e| e.expect("nobody waits for ever"))
        .max()
        .unwrap_or(0)
}

fn ideal(trace: &Trace) -> f64 {
    let recorded = Recorded::of(trace).expect("a trace");
    let outcome = simulate(recorded.program(), &Network::Ideal, Options::default(), ());
    outcome.expect("it ends").seconds * 1e9
}

#[test]
fn messages_take_as_long_as_in_our_simulation() {
    let trace = messages(2);
    let (text, _) = schedule(&trace);
    let (ours, theirs) = (ideal(&trace), run(&parse(&text)) as f64);
    // Computation is whole nanoseconds.
    assert!((ours - theirs).abs() < 10.0, "{ours} ns, {theirs} ns");
}

#[test]
fn collectives_are_messages() {
    let trace = collectives();
    let (text, notes) = schedule(&trace);
    assert_eq!(notes.len(), 1, "{notes:?}");
    let (ours, theirs) = (ideal(&trace), run(&parse(&text)) as f64);
    // In a tree, a member may wait for another one that is not the root.
    assert!(
        theirs > ours - 10.0 && theirs < 1.05 * ours,
        "{ours} ns, {theirs} ns"
    );
}
