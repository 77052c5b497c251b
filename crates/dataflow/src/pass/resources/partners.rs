//! How much ranks send to whom. Partners are named by their distance, as in `rank + 1`: so ranks that do the same are one
//! row, however many they are.

use super::counted::{begin, section};
use super::spread::{Spread, columns};
use crate::run::Recorded;
use headwater_graph::view::Cell;
use headwater_model::report::{Section, Unit};
use headwater_model::run::Run;
use std::collections::BTreeMap;

/// Distances that have a row of their own.
const ROWS: usize = 12;

/// What is sent over one distance.
#[derive(Default)]
struct Sent {
    messages: f64,
    /// Bytes that go to another node.
    between_nodes: f64,
    by_rank: BTreeMap<u32, f64>,
}

impl Sent {
    fn bytes(&self) -> f64 {
        self.by_rank.values().sum()
    }

    fn add(&mut self, other: Self) {
        self.messages += other.messages;
        self.between_nodes += other.between_nodes;
        for (rank, bytes) in other.by_rank {
            *self.by_rank.entry(rank).or_default() += bytes;
        }
    }
}

/// By distance.
fn sent(recorded: &Recorded) -> BTreeMap<i64, Sent> {
    let mut out: BTreeMap<i64, Sent> = BTreeMap::new();
    let Some(peers) = recorded.top_down().table("peers") else {
        return out;
    };
    let node = nodes(recorded.run());
    let of = |name: &str, row| peers.get(name).and_then(|c| c.number(row));
    for row in 0..peers.len() {
        let (Some(rank), Some(peer)) = (of("rank", row), of("peer", row)) else {
            continue;
        };
        let (rank, peer) = (rank as u32, peer as u32);
        // A root is no partner of all ranks: how a collective moves its data, the library decides.
        let class =
            of("vertex", row).map(|v| recorded.top_down().vertices.cell("class", v as usize));
        if let Some(Cell::Text("collective")) = class {
            continue;
        }
        let (messages, bytes) = (of("messages", row), of("sent", row).unwrap_or(0.0));
        let messages = messages.unwrap_or(0.0);
        if messages == 0.0 && bytes == 0.0 {
            continue;
        }
        let sum = out.entry(i64::from(peer) - i64::from(rank)).or_default();
        sum.messages += messages;
        let nodes = node.get(&rank).zip(node.get(&peer));
        if nodes.is_some_and(|(own, theirs)| own != theirs) {
            sum.between_nodes += bytes;
        }
        *sum.by_rank.entry(rank).or_default() += bytes;
    }
    out
}

fn nodes(run: &Run) -> BTreeMap<u32, u32> {
    run.ranks.iter().map(|r| (r.rank, r.node)).collect()
}

fn words(distance: i64) -> String {
    match distance {
        0 => "itself".to_string(),
        d if d > 0 => format!("rank + {d}"),
        d => format!("rank - {}", d.unsigned_abs()),
    }
}

/// Sent bytes by run and partner.
pub fn partners(runs: &[&Recorded]) -> Section {
    let note = "Bytes of messages from the program's calls that name their partner; collectives and one-sided calls are not in them. Counters of network devices are left out: other jobs and the system use these too.";
    let more = [
        ("partner", "partner", Unit::None),
        ("senders", "senders", Unit::Count),
        ("messages", "messages", Unit::Count),
        ("between_nodes", "to other nodes", Unit::Bytes),
    ];
    let columns = more.into_iter().chain(columns(Unit::Bytes));
    let mut section = section(runs, "partners", "Sent to partners", note, columns);
    for recorded in runs {
        let mut all: Vec<(String, Sent)> = (sent(recorded).into_iter())
            .map(|(distance, sent)| (words(distance), sent))
            .collect();
        // Sorting is stable, so equal ones keep the order of their distances.
        all.sort_by(|a, b| b.1.bytes().total_cmp(&a.1.bytes()));
        if all.len() > ROWS {
            let others = all.split_off(ROWS - 1);
            let name = format!("{} other distances", others.len());
            let mut sum = Sent::default();
            others.into_iter().for_each(|(_, sent)| sum.add(sent));
            all.push((name, sum));
        }
        for (partner, sent) in all {
            let mut row = begin(runs, recorded.run());
            row.push(partner.into());
            row.push((sent.by_rank.len() as f64).into());
            row.extend([sent.messages.into(), sent.between_nodes.into()]);
            row.extend(Spread::items_of(Spread::new(sent.by_rank)));
            section.rows.push(row);
        }
    }
    section
}
