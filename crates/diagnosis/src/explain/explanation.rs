//! The sentences for each class of cause: what is wrong at a place, and what to try.

use crate::explain::words::noun;
use headwater_model::diagnosis::{CauseClass, Place};
use headwater_model::rank::RankSet;
use headwater_model::words::{self, Subject};

/// At most this many characters of a sentence name ranks.
const ROOM: usize = 40;

/// What a sentence depends on besides its class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Case {
    /// Whether all ranks are concerned.
    pub all: bool,
    /// Whether the ranks may use only some of their node's cores.
    pub bound: bool,
    /// Whether they are late one after another.
    pub in_turn: bool,
    /// Who computes in the program.
    pub subject: Subject,
}

/// The sentences, with placeholders for ranks and for what they do, and `[words for many|for one]` of them.
fn template(class: CauseClass, case: Case) -> &'static str {
    match class {
        CauseClass::UnevenWork if case.in_turn => {
            "In turn, a few of {who} spend more time in {what} than the others, who wait for them every time; in the end all have done about the same. Divide this work anew while the program runs, or so that all ranks have a part of it at any time."
        }
        CauseClass::UnevenWork => {
            "{who} [spend|spends] more time in {what} than the others, who wait for [them|it]. Divide this work more evenly, or let the waiting ranks help."
        }
        CauseClass::SlowerWork if case.subject.is_process() => {
            "The work in {what} is divided as it should be, but it runs slower the more threads there are. They share memory and caches: look at the bandwidth that it needs, and at data of several threads in one cache line."
        }
        CauseClass::NonShrinkingWork if case.subject.is_process() => {
            "The program does in {what} what does not become less when threads are added. Divide this work over the threads, or do it once and share the result."
        }
        CauseClass::SlowerWork if case.all => {
            "The work in {what} is divided as it should be, but it runs slower the more ranks there are. They share memory, caches or power: look at the bandwidth that it needs, and spread the ranks over more nodes."
        }
        CauseClass::SlowerWork => {
            "{who} [need|needs] longer for the same work in {what}. Look at page faults and memory placement, frequency and binding of [these ranks|this rank]."
        }
        CauseClass::NonShrinkingWork => {
            "{who} [do|does] in {what} what does not become less when ranks are added. Divide this work over the ranks, or do it once and share the result."
        }
        CauseClass::GrowingCommunication => {
            "{who} [move|moves] data in {what} whose amount grows with the number of ranks. Send less, to fewer partners, or in larger parts while computing."
        }
        CauseClass::LateSenderChain => {
            "{who} compute in turn in {what}: each can start only when the one before has passed its result on. Cut this work into smaller blocks, with a message after each, so that ranks overlap."
        }
        CauseClass::CollectiveAlgorithm => {
            "Nobody is late for {what}, and yet it takes more and more of the time with more ranks. Reduce its data or how often it is called, overlap it, or try another algorithm of the MPI library."
        }
        CauseClass::ThreadImbalance => {
            "On {who}, some threads compute longer in {what} than the others of their team, who wait for them. Divide this work more evenly over threads: in smaller pieces, or by a dynamic or guided schedule."
        }
        CauseClass::LockContention => {
            "On {who}, threads wait for one another at {what}, as one at a time can hold the lock. Hold it for less, take it less often (add up in each thread first), or divide what it guards over several locks."
        }
        CauseClass::SerialRegion => {
            "On {who}, one thread computes in {what} while the team that it has elsewhere idles. Divide this work over the threads too."
        }
        CauseClass::SmallRegions => {
            "On {who}, {what} begins parallel regions that compute so little each time that beginning and ending them adds up. Put more work into each: let one region enclose the loop around it, or leave small cases to one thread (OpenMP has the clause if for that)."
        }
        CauseClass::AllocatorContention => {
            "On {who}, threads wait for one another in the memory allocator, which {what} calls. Allocate once and use it again, reserve what will be needed, or take an allocator with memory of its own for each thread."
        }
        CauseClass::SystemCallOrIo if case.subject.is_process() => {
            "The program is asleep in {what}, waiting for a file, a device or a timer, and more threads do not make that shorter. Do it less often, in larger pieces, or beside the computation."
        }
        CauseClass::SystemCallOrIo if case.all => {
            "All ranks are asleep in {what}, waiting for a file, a device or a timer, and more ranks do not make that shorter. Do it less often, in larger pieces, or beside the computation."
        }
        CauseClass::SystemCallOrIo => {
            "{who} [are|is] asleep in {what}, waiting for a file, a device or a timer, and the others wait for [them|it]. Let fewer or more ranks do it, do it less often, or beside the computation."
        }
        CauseClass::Preempted if case.bound && case.subject.is_process() => {
            "Threads of the program are ready to compute in {what} but have to share the few cores that it is bound to. Look at the cores that it may use."
        }
        CauseClass::Preempted if case.bound => {
            "{who} [are|is] ready to compute in {what} but [have|has] to share the few cores that [they are|it is] bound to. Look at the binding of ranks to cores."
        }
        CauseClass::Preempted => {
            "{who} [are|is] ready to compute in {what} but [have|has] to wait for a core, though [they are|it is] bound to none: other programs ran here. Look at what else runs on these nodes."
        }
        CauseClass::Startup if case.subject.is_process() => {
            "The program needs longer for {what} the more threads there are. Look at where it and its libraries are loaded from."
        }
        CauseClass::Startup => {
            "{who} [need|needs] longer for {what} the more ranks there are. Look at where the program and its libraries are loaded from, and at what is done before MPI_Init."
        }
        CauseClass::OneOff => {
            "{who} once [take|takes] very long in {what}; every other time [they do|it does] not. Look at what is done there only then."
        }
    }
}

/// A template with the words for many or for one.
fn counted(template: &str, one: bool) -> String {
    let mut parts = template.split(['[', ']']);
    let mut out: String = parts.next().unwrap_or("").to_string();
    while let Some(words) = parts.next() {
        let (many, single) = words.split_once('|').unwrap_or((words, words));
        out.push_str(if one { single } else { many });
        out.push_str(parts.next().unwrap_or(""));
    }
    out
}

/// What is wrong at `place` on ranks `set` of `of`, and what to try.
pub fn explanation(class: CauseClass, place: &Place, set: &RankSet, of: u32, case: Case) -> String {
    let template = template(class, case);
    let of_process = template
        .strip_prefix("On {who}, ")
        .filter(|_| case.subject.is_process());
    let text = counted(of_process.unwrap_or(template), set.len() == 1);
    let text = text.replace("{who}", &case.subject.who(set, of, ROOM));
    words::capitalised(&text.replace("{what}", &noun(class, place)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::psg::VertexKind;

    #[test]
    fn places_without_a_file_are_reported_by_name() {
        let start = Place {
            name: "the start-up before the first MPI call".into(),
            ..Place::unknown(VertexKind::Function)
        };
        let class = CauseClass::NonShrinkingWork;
        let text = explanation(class, &start, &RankSet::all(4), 4, Case::default());
        let begin = "All 4 ranks do in the start-up before the first MPI call what";
        assert!(text.starts_with(begin), "{text}");
    }

    #[test]
    fn a_process_has_no_ranks() {
        let place = Place::unknown(VertexKind::Loop);
        use CauseClass::*;
        let classes = [
            SlowerWork,
            NonShrinkingWork,
            ThreadImbalance,
            LockContention,
            SerialRegion,
            SmallRegions,
            AllocatorContention,
            SystemCallOrIo,
            Preempted,
            Startup,
            OneOff,
        ];
        for (class, bound) in classes.into_iter().flat_map(|c| [(c, false), (c, true)]) {
            let case = Case {
                all: true,
                bound,
                subject: Subject::Process,
                ..Case::default()
            };
            let text = explanation(class, &place, &RankSet::all(1), 1, case);
            assert!(!text.contains("rank") && !text.contains("MPI"), "{text}");
        }
    }

    #[test]
    fn one_rank_is_not_reported_in_the_plural() {
        let place = Place {
            // Text that looks like a choice of words comes from the program.
            function: "operator[a|b]".into(),
            file: Some("a.c".into()),
            module: "app".into(),
            ..Place::unknown(VertexKind::Loop)
        };
        let explained = |ranks: &str, bound| {
            let ranks: RankSet = ranks.parse().expect("a set of ranks");
            let case = Case {
                bound,
                ..Case::default()
            };
            explanation(CauseClass::Preempted, &place, &ranks, 4, case)
        };
        let (many, one) = (explained("1-2", true), explained("1", true));
        assert!(
            many.contains("operator[a|b]")
                && many.contains("but have to share the few cores that they are bound to"),
            "{many}"
        );
        assert!(
            one.contains("is ready to")
                && one.contains("but has to share the few cores that it is bound to"),
            "{one}"
        );
        let free = explained("1", false);
        assert!(
            free.contains("other programs ran here") && !free.contains("binding"),
            "{free}"
        );
    }
}
