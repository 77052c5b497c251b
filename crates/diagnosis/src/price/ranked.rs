//! Sorts candidates for causes by what removing them would gain, and reports each once.

use crate::find::candidate::{Candidate, Price, REST};
use crate::find::class;
use headwater_graph::{Pag, VertexIx};
use headwater_model::dependence::Origin;
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;
use headwater_model::words;

/// Sorts candidates, the largest gain first; equal ones are in the order of the graph. The mean of the gain and its
/// lower bound counts, so that an uncertain figure does not come before a certain one; for an estimate, only its
/// certain part counts. Candidates whose error range includes zero come after the others.
pub fn ranked(pag: &Pag, found: Vec<Candidate>) -> Vec<Candidate> {
    let is_call = |v: VertexIx| pag.top.get(v).kind == VertexKind::LockCall;
    let is_same = |a: VertexIx, b: VertexIx| a == b || pag.top.is_same_place(a, b);
    let mut found = with_lock_calls(found, is_call, is_same);
    let known = |c: &Candidate| c.range().0 > 0.0;
    let gain = |c: &Candidate| match c.price {
        Price::AtLeast(seconds) => seconds.min(c.gain),
        _ => 0.5 * (c.gain + c.range().0),
    };
    found.sort_by(|a, b| {
        let price = gain(b).total_cmp(&gain(a)).then(a.vertex.cmp(&b.vertex));
        known(b).cmp(&known(a)).then(price)
    });
    by_rank_first(pag, &mut found, gain);
    remainders(pag, without_duplicates(pag, found))
}

/// A lock that threads contend for takes computation too: it moves between cores, and the kernel puts threads to sleep and
/// wakes them. Where that grows in a call that takes a lock for which threads wait, it is a part of the contention.
fn with_lock_calls(
    found: Vec<Candidate>,
    is_call: impl Fn(VertexIx) -> bool,
    is_same: impl Fn(VertexIx, VertexIx) -> bool,
) -> Vec<Candidate> {
    use CauseClass::{LockContention, NonShrinkingWork, SlowerWork};
    let (calls, mut out): (Vec<Candidate>, Vec<Candidate>) =
        (found.into_iter()).partition(|c| matches!(c.class, NonShrinkingWork | SlowerWork));
    let mut rest = Vec::new();
    for call in calls {
        let waits = |c: &&mut Candidate| {
            c.class == LockContention
                && c.ranks == call.ranks
                && c.vertices().any(|v| is_same(v, call.vertex))
        };
        let lock = out.iter_mut().find(waits);
        let Some(lock) = lock.filter(|_| is_call(call.vertex)) else {
            rest.push(call);
            continue;
        };
        lock.cost += call.cost;
        lock.gain += call.gain;
        lock.error = lock.error.hypot(call.error);
        lock.evidence.push(format!(
            "taking and releasing it computes more than on the smallest scale, which costs {}: a lock that threads contend for moves between cores, and threads fall asleep and are woken",
            words::seconds(call.gain)
        ));
        lock.evidence.extend(call.evidence);
    }
    out.extend(rest);
    out
}

/// Of neighbours of uneven work whose gains differ by less than their error, the one whose work depends on the rank
/// comes first: there is something to mend in the program.
fn by_rank_first(pag: &Pag, found: &mut [Candidate], gain: impl Fn(&Candidate) -> f64) {
    let by_rank = |c: &Candidate| pag.deciding(c.vertex).depends_on(Origin::Rank);
    let comes_first = |a: &Candidate, b: &Candidate| {
        let uneven = |c: &Candidate| c.class == CauseClass::UnevenWork;
        let equal = (gain(a) - gain(b)).abs() <= a.error.max(b.error);
        uneven(a) && uneven(b) && equal && by_rank(b) && !by_rank(a)
    };
    for i in 1..found.len() {
        let mut at = i;
        while at > 0 && comes_first(&found[at - 1], &found[at]) {
            found.swap(at - 1, at);
            at -= 1;
        }
    }
}

/// Sleep that all ranks have is a cause of its own. So it is subtracted from non-shrinking work around it, and that
/// work stays a cause only if at least `least` seconds are left.
pub fn without_sleep(pag: &Pag, mut found: Vec<Candidate>, least: f64) -> Vec<Candidate> {
    use CauseClass::{NonShrinkingWork, SerialRegion, SlowerWork, SystemCallOrIo};
    let asleep = found.iter().filter(|c| c.class == SystemCallOrIo);
    let asleep: Vec<Candidate> = asleep.cloned().collect();
    found.retain_mut(|c| {
        if !matches!(c.class, NonShrinkingWork | SlowerWork | SerialRegion) {
            return true;
        }
        let inside = |s: &&Candidate| {
            let is_inside = |v: VertexIx| c.vertices().any(|own| pag.top.contains(own, v));
            s.ranks == c.ranks && s.vertices().any(is_inside)
        };
        let slept: f64 = asleep.iter().filter(inside).map(|s| s.gain).sum();
        if slept <= 0.0 {
            return true;
        }
        c.gain -= slept;
        c.cost -= slept;
        c.evidence.push(format!(
            "beside {} for which these ranks sleep here, which is a cause of its own",
            words::seconds(slept)
        ));
        c.gain >= least
    });
    found
}

/// Divides candidates into causes, and sentences about those that are too uncertain for a cause: ranks that differ by
/// no more than the error may do equal work. `ranks` is the number of ranks of the scale.
pub fn divide(pag: &Pag, found: Vec<Candidate>, ranks: u32) -> (Vec<Candidate>, Vec<String>) {
    let (mut causes, mut notes) = (Vec::new(), Vec::new());
    for candidate in found {
        let differs = class::of(candidate.class).differs;
        match &candidate.price {
            Price::Note(sentence) => notes.push(sentence.clone()),
            _ if differs && candidate.range().0 <= 0.0 => notes.push(format!(
                "{} in {} on {} may cost {}, but the error of this figure is as large as the figure, so it is not called a cause.",
                candidate.class.words(),
                words::location(&pag.place(candidate.vertex)),
                words::ranks(&candidate.ranks.iter().copied().collect(), ranks, 40),
                words::seconds(candidate.gain)
            )),
            _ => causes.push(candidate),
        }
    }
    (causes, notes)
}

/// Computation on one thread of each rank may also be non-shrinking work: of two such causes at one place, the one with
/// the larger gain is reported, with what the other one says.
fn without_duplicates(pag: &Pag, found: Vec<Candidate>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    for next in found {
        // Losses of other classes at the same place are added to it.
        let stays = |c: &Candidate| {
            use CauseClass::{NonShrinkingWork, SlowerWork};
            matches!(c.class, NonShrinkingWork | SlowerWork)
        };
        let serial = |c: &Candidate| c.class == CauseClass::SerialRegion;
        let same = |kept: &&mut Candidate| {
            (serial(kept) && stays(&next) || stays(kept) && serial(&next))
                && (pag.top.contains(kept.vertex, next.vertex)
                    || pag.top.contains(next.vertex, kept.vertex))
                && next.ranks.iter().all(|r| kept.ranks.contains(r))
        };
        match out.iter_mut().find(same) {
            Some(kept) => kept.evidence.push(match next.class {
                CauseClass::SerialRegion => format!(
                    "one thread of each rank does it while the others idle: sharing it among them would gain {}",
                    words::seconds(next.gain)
                ),
                class => format!(
                    "{} is {} too, which costs {}",
                    match next.vertex == kept.vertex {
                        true => "it".to_string(),
                        false => format!("what is computed at {}", words::location(&pag.place(next.vertex))),
                    },
                    class.words(),
                    words::seconds(next.gain)
                ),
            }),
            None => out.push(next),
        }
    }
    out
}

/// Treats what is left around a place as a part of it: the same ranks are late there by a little more, mostly because
/// samples do not show exactly what was inside.
fn remainders(pag: &Pag, found: Vec<Candidate>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    for next in found {
        let whole = |kept: &&mut Candidate| {
            let mut places = std::iter::once(&kept.vertex).chain(&kept.twins);
            kept.class == next.class
                && next.gain <= REST * kept.gain
                && next.ranks.iter().all(|r| kept.ranks.contains(r))
                && next.after.iter().any(|a| kept.after.contains(a))
                && places.any(|v| pag.top.contains(next.vertex, *v))
        };
        match out.iter_mut().find(whole) {
            Some(kept) => kept.evidence.push(format!(
                "around it these ranks take {} more, which may be a part of it",
                words::seconds(next.gain)
            )),
            None => out.push(next),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_graph::Structures;

    fn at_root(class: CauseClass, gain: f64) -> Candidate {
        Candidate {
            class,
            vertex: headwater_graph::TopDown::ROOT,
            ranks: vec![0, 1],
            cost: gain,
            gain,
            after: Vec::new(),
            evidence: Vec::new(),
            twins: Vec::new(),
            in_turn: false,
            price: Price::default(),
            error: 0.0,
            team: None,
        }
    }

    #[test]
    fn what_a_contended_lock_computes_is_a_part_of_the_contention() {
        use CauseClass::{LockContention, NonShrinkingWork, UnevenWork};
        let found = |first, is_call| {
            let found = vec![at_root(first, 1.0), at_root(NonShrinkingWork, 2.0)];
            with_lock_calls(found, |_| is_call, |a, b| a == b)
        };
        let of = |c: &Candidate| (c.class, c.gain);
        let locked: Vec<_> = found(LockContention, true).iter().map(of).collect();
        assert_eq!(locked, [(LockContention, 3.0)]);
        assert_eq!(found(UnevenWork, true).len(), 2);
        // A loop around the lock does other work, too.
        assert_eq!(found(LockContention, false).len(), 2);
    }

    #[test]
    fn a_serial_region_takes_up_only_what_is_lost_by_the_same_work() {
        let pag = Pag::build(&mut [], Structures::default());
        let left = |class| {
            let found = vec![at_root(CauseClass::SerialRegion, 2.0), at_root(class, 1.0)];
            without_duplicates(&pag, found).len()
        };
        assert_eq!(left(CauseClass::NonShrinkingWork), 1);
        for other in [CauseClass::ThreadImbalance, CauseClass::UnevenWork] {
            assert_eq!(left(other), 2, "{other:?}");
        }
    }
}
