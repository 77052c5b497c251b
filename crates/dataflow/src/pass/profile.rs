//! The tables of an MPI profile, as users of mpiP know them (Vetter and Chambreau 2005; PerFlow, section 4.4).
//!
//! A call site is a place in the program: all call paths to it are put together. Sites are numbered by the time spent
//! in them, the longest first; the number of a site is the same in all tables of a set.

mod sums;

use crate::flow::{Call, Gives, Kind, Pass, PassError, Value};
use crate::numbers::stats::{mean, variance};
use headwater_graph::view::Table;
use headwater_model::report::{Item, Section, Unit};
use sums::Profile;

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    type Make = fn(&Profile) -> Section;
    let tables: [(&'static str, &'static str, Make); 6] = [
        ("call-sites", "Call sites with their lines.", sites),
        (
            "time-by-site",
            "Time in MPI by call site, all ranks together.",
            time,
        ),
        (
            "sent-by-site",
            "Bytes sent by call site, all ranks together.",
            sent,
        ),
        (
            "time-by-site-and-rank",
            "Calls of each site on each rank.",
            time_by_rank,
        ),
        (
            "sent-by-site-and-rank",
            "Bytes sent by each site on each rank.",
            sent_by_rank,
        ),
        (
            "message-sizes",
            "Calls by function and size of message.",
            message_sizes,
        ),
    ];
    let own = tables.into_iter().map(|(name, about, make)| {
        let of_set = move |call: &Call<'_>| -> Result<Vec<Value>, PassError> {
            Ok(vec![make(&Profile::new(call.vertices(0)?)?).into()])
        };
        Pass::new(name, about, of_set)
            .takes("V", Kind::TOP_DOWN)
            .gives(Gives::Kind(Kind::Section))
    });
    let tasks = Pass::new(
        "time-by-task",
        "Run time and time in MPI of each rank.",
        |call| {
            let run = call.run(0)?;
            let mut section = tasks(run.top_down().table("ranks"));
            let others = run.run().calls.iter().any(|c| c.thread > 0);
            if let Some(note) = section.note.as_mut().filter(|_| others) {
                note.push_str(THREADS);
            }
            Ok(vec![section.into()])
        },
    )
    .takes("run", Kind::Run)
    .gives(Gives::Kind(Kind::Section));
    std::iter::once(tasks).chain(own).collect()
}

/// Note for runs in which threads besides a rank's first one called MPI.
const THREADS: &str = " Threads besides the first called MPI: their time in it is counted too, so that a task can have more of it than app time.";

fn ratio(a: f64, b: f64) -> Item {
    Item::from((b > 0.0).then(|| a / b))
}

fn number(x: usize) -> Item {
    Item::Number(x as f64)
}

fn tasks(ranks: Option<&Table>) -> Section {
    let columns = [
        ("rank", "task", Unit::None),
        ("app_seconds", "app time", Unit::Seconds),
        ("mpi_seconds", "MPI time", Unit::Seconds),
        ("mpi_share", "MPI", Unit::Share),
    ];
    let mut section = Section::new("time_by_task", "MPI time by task", &columns);
    let Some(ranks) = ranks else { return section };
    let of = |name: &str, row| ranks.get(name).and_then(|c| c.number(row));
    let mut sums = (0.0, 0.0);
    for row in 0..ranks.len() {
        let (wall, mpi) = (of("wall", row), of("mpi", row));
        sums = (sums.0 + wall.unwrap_or(0.0), sums.1 + mpi.unwrap_or(0.0));
        section.rows.push(vec![
            of("rank", row).into(),
            wall.into(),
            mpi.into(),
            ratio(mpi.unwrap_or(0.0), wall.unwrap_or(0.0)),
        ]);
    }
    section.note = Some(format!(
        "All tasks together: {} in the program from MPI_Init to MPI_Finalize, {} of it in MPI ({:.1} %).",
        headwater_model::words::seconds(sums.0),
        headwater_model::words::seconds(sums.1),
        if sums.0 > 0.0 {
            100.0 * sums.1 / sums.0
        } else {
            0.0
        }
    ));
    section
}

fn sites(profile: &Profile) -> Section {
    let columns = [
        ("site", "site", Unit::None),
        ("call", "call", Unit::None),
        ("file", "file", Unit::None),
        ("line", "line", Unit::None),
        ("parent", "in function", Unit::None),
    ];
    let mut section = Section::new("call_sites", "Call sites", &columns);
    for (id, site) in (1..).zip(&profile.sites) {
        section.rows.push(vec![
            number(id),
            site.function.as_str().into(),
            site.file.clone().map_or(Item::Missing, Item::from),
            site.line.into(),
            site.parent.clone().map_or(Item::Missing, Item::from),
        ]);
    }
    section
}

fn time(profile: &Profile) -> Section {
    let columns = [
        ("call", "call", Unit::None),
        ("site", "site", Unit::None),
        ("time_seconds", "time", Unit::Seconds),
        ("app_share", "app", Unit::Share),
        ("mpi_share", "MPI", Unit::Share),
        ("count", "count", Unit::Count),
        ("cov", "COV", Unit::Ratio),
    ];
    let mut section = Section::new("time_by_site", "Aggregate time by call site", &columns);
    section.note = Some(
        "COV is the standard deviation over tasks divided by their mean: 0 where all spend the same.".into(),
    );
    let mpi = profile.mpi();
    for (id, site) in profile.by(|s| s.all.time) {
        let mut row = vec![0.0; profile.ranks as usize];
        for (rank, sum) in &site.by_rank {
            if let Some(slot) = row.get_mut(*rank as usize) {
                *slot = sum.time;
            }
        }
        section.rows.push(vec![
            site.function.as_str().into(),
            number(id),
            site.all.time.into(),
            ratio(site.all.time, profile.app),
            ratio(site.all.time, mpi),
            site.all.calls(),
            ratio(variance(&row).sqrt(), mean(&row)),
        ]);
    }
    section
}

/// Note about what is not in the tables of sent bytes.
const EMPTY: &str =
    "Calls that sent empty messages count, but sites that sent nothing else are left out.";

fn sent(profile: &Profile) -> Section {
    let columns = [
        ("call", "call", Unit::None),
        ("site", "site", Unit::None),
        ("count", "count", Unit::Count),
        ("total_bytes", "total", Unit::Bytes),
        ("mean_bytes", "mean", Unit::Bytes),
        ("sent_share", "sent", Unit::Share),
    ];
    let mut section = Section::new("sent_by_site", "Aggregate sent message size", &columns);
    section.note = Some(EMPTY.into());
    let all: f64 = profile.sites.iter().map(|s| s.all.sent).sum();
    for (id, site) in profile.by(|s| s.all.sent) {
        if site.all.sent > 0.0 {
            section.rows.push(vec![
                site.function.as_str().into(),
                number(id),
                site.all.calls(),
                site.all.sent.into(),
                ratio(site.all.sent, site.all.count),
                ratio(site.all.sent, all),
            ]);
        }
    }
    section
}

fn time_by_rank(profile: &Profile) -> Section {
    let columns = [
        ("call", "call", Unit::None),
        ("site", "site", Unit::None),
        ("rank", "task", Unit::None),
        ("count", "count", Unit::Count),
        ("max_seconds", "max", Unit::Seconds),
        ("mean_seconds", "mean", Unit::Seconds),
        ("min_seconds", "min", Unit::Seconds),
        ("time_seconds", "time", Unit::Seconds),
        ("mpi_share", "MPI", Unit::Share),
    ];
    let title = "Call site time statistics";
    let mut section = Section::new("time_by_site_and_rank", title, &columns);
    section.note = Some(
        "Of single calls the longest is recorded and not the shortest; that is known only where there was one call.".into(),
    );
    let mut of_rank = vec![0.0; profile.ranks as usize];
    for (rank, sum) in profile.sites.iter().flat_map(|s| &s.by_rank) {
        if let Some(slot) = of_rank.get_mut(*rank as usize) {
            *slot += sum.time;
        }
    }
    for (id, site) in profile.by(|s| s.all.time) {
        for (rank, sum) in &site.by_rank {
            let all = of_rank.get(*rank as usize).copied().unwrap_or(0.0);
            section.rows.push(vec![
                site.function.as_str().into(),
                number(id),
                f64::from(*rank).into(),
                sum.calls(),
                sum.longest(),
                ratio(sum.time, sum.count),
                Item::from((sum.count == 1.0).then_some(sum.time)),
                sum.time.into(),
                ratio(sum.time, all),
            ]);
        }
    }
    section
}

/// Bytes of messages of a size class: the number of bits of their byte count.
fn bytes_of(class: u32) -> (f64, f64) {
    match class {
        0 => (0.0, 0.0),
        c => (2f64.powi(c as i32 - 1), 2f64.powi(c as i32) - 1.0),
    }
}

fn sent_by_rank(profile: &Profile) -> Section {
    let columns = [
        ("call", "call", Unit::None),
        ("site", "site", Unit::None),
        ("rank", "task", Unit::None),
        ("count", "count", Unit::Count),
        ("most_bytes", "at most", Unit::Bytes),
        ("mean_bytes", "mean", Unit::Bytes),
        ("least_bytes", "at least", Unit::Bytes),
        ("sum_bytes", "sum", Unit::Bytes),
    ];
    let title = "Call site message sent statistics";
    let mut section = Section::new("sent_by_site_and_rank", title, &columns);
    section.note = Some(format!(
        "Sizes are recorded by powers of two: no message of the site that has bytes is larger or smaller than the figures shown. {EMPTY}"
    ));
    for (id, site) in profile.by(|s| s.all.sent) {
        for (rank, sum) in &site.by_rank {
            let Some((least, most)) = sum.classes else {
                continue;
            };
            let one = sum.count == 1.0;
            let at_most = if one { sum.sent } else { bytes_of(most).1 };
            let at_least = if one { sum.sent } else { bytes_of(least).0 };
            section.rows.push(vec![
                site.function.as_str().into(),
                number(id),
                f64::from(*rank).into(),
                sum.calls(),
                at_most.min(sum.sent).into(),
                ratio(sum.sent, sum.count),
                at_least.into(),
                sum.sent.into(),
            ]);
        }
    }
    section
}

fn message_sizes(profile: &Profile) -> Section {
    let columns = [
        ("call", "call", Unit::None),
        ("from_bytes", "from", Unit::Bytes),
        ("to_bytes", "to", Unit::Bytes),
        ("count", "count", Unit::Count),
        ("bytes", "total", Unit::Bytes),
        ("time_seconds", "time", Unit::Seconds),
    ];
    let mut section = Section::new("message_sizes", "Message sizes", &columns);
    section.note = Some(
        "Bytes are those that a task sent or received in the call; a call that only waits has none.".into(),
    );
    for ((function, class), sum) in &profile.sizes {
        let (from, to) = bytes_of(*class);
        section.rows.push(vec![
            function.as_str().into(),
            from.into(),
            to.into(),
            sum.calls(),
            sum.sent.into(),
            sum.time.into(),
        ]);
    }
    section
}
