//! What the diagnosis says where late ranks have cores of their own.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{CauseClass, Diagnosis, Evidence};
use headwater_model::run::RankInfo;
use support::{diagnose, piece, run, structure};

#[test]
fn a_core_that_ran_slower_is_set_aside_where_chance_chose_its_ranks() {
    const SLOW: [u32; 4] = [0, 3, 5, 6];
    let diagnosis_of = |late: f64, change: fn(&mut RankInfo)| {
        let seconds = move |r, _| if SLOW.contains(&r) { late } else { 1.0 };
        let mut run = run(8, &[piece("MPI_Allreduce", seconds)]);
        run.header.cores = vec![2];
        for info in &mut run.ranks {
            let core = u64::from(SLOW.contains(&info.rank));
            (info.cpus_allowed, info.cpus, info.core) = (2, "0-1".into(), Some(core));
            change(info);
        }
        diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough")
    };
    let d = diagnosis_of(1.5, |_| ());
    assert_eq!(d.causes, vec![]);
    let why = |n: &String| n.contains("ranks 0,3,5-6 computed more slowly at app.c:10-15");
    assert!(d.notes.iter().any(why), "{:?}", d.notes);

    let uneven = |d: &Diagnosis| {
        let found = d.causes.iter();
        found
            .map(|c| (c.class, c.ranks.to_string()))
            .collect::<Vec<_>>()
    };
    let expected = [(CauseClass::UnevenWork, "0,3,5-6".to_string())];
    // No core is that much slower; another rank was as fast there; somebody chose the cores.
    assert_eq!(uneven(&diagnosis_of(2.5, |_| ())), expected);
    assert_eq!(uneven(&diagnosis_of(1.5, |i| i.core = Some(0))), expected);
    let bound = diagnosis_of(1.5, |i| {
        (i.cpus_allowed, i.cpus) = (1, i.core.unwrap_or(0).to_string());
    });
    assert_eq!(uneven(&bound), expected);
    let hint = |e: &Evidence| e.text.contains("all the ranks bound to core 1 of node n0");
    assert!(
        bound.causes[0].evidence.iter().any(hint),
        "{:?}",
        bound.causes
    );
}

#[test]
fn ranks_that_changed_cores_do_not_hide_that_one_core_was_slow() {
    // Rank 6 spent half of its time on the slow core, and rank 7 a little of it.
    let seconds = |r, _| match r {
        0 | 3 | 5 => 1.2,
        6 => 1.1,
        7 => 1.03,
        _ => 1.0,
    };
    let mut run = run(8, &[piece("MPI_Allreduce", seconds)]);
    run.header.cores = vec![2];
    for info in &mut run.ranks {
        let core = (info.rank < 6).then(|| u64::from([0, 3, 5].contains(&info.rank)));
        (info.cpus_allowed, info.cpus, info.core) = (2, "0-1".into(), core);
    }
    let d = diagnose(vec![run], structure(1), &Options::default()).expect("one run is enough");
    assert_eq!(d.causes, vec![]);
    let why = |n: &String| n.contains("ran on some of the cores");
    assert!(d.notes.iter().any(why), "{:?}", d.notes);
}
