//! Which counters of a trace a run keeps, and under which names: those that passes compute with have one name in all runs,
//! whichever tool counted.

use headwater_format::spool::layout::MOST_COUNTERS;

/// Letters that the names of all counters of a run may take together, with a separator each (`counter_names` of a spool).
const MOST_LETTERS: usize = 255;

/// Names of instructions and of cycles, the most wanted first: PAPI's, the kernel's, a processor's own.
const PLAIN: [(&str, &[&str]); 2] = [
    (
        "instructions",
        &[
            "papi-tot-ins",
            "instructions",
            "perf-count-hw-instructions",
            "inst-retired",
        ],
    ),
    (
        "cycles",
        &[
            "papi-tot-cyc",
            "cpu-cycles",
            "cycles",
            "perf-count-hw-cpu-cycles",
            "cpu-clk-unhalted.thread",
        ],
    ),
];

/// Names of misses of one cache and of references to the same one, the cache nearest to memory first.
const CACHES: [[&str; 2]; 6] = [
    ["papi-l3-tcm", "papi-l3-tca"],
    ["cache-misses", "cache-references"],
    [
        "perf-count-hw-cache-misses",
        "perf-count-hw-cache-references",
    ],
    ["llc-misses", "llc-references"],
    ["papi-l3-dcm", "papi-l3-dca"],
    ["papi-l2-tcm", "papi-l2-tca"],
];

/// Names of a run for what a cache does.
const OF_CACHE: [&str; 2] = ["cache_misses", "cache_references"];

/// Types of Paraver events that Extrae uses for PAPI's presets (42,000,000 and the preset's number), for traces that do
/// not label them.
const EXTRAE: [(u64, &str); 6] = [
    (42_000_007, "PAPI_L2_TCM"),
    (42_000_008, "PAPI_L3_TCM"),
    (42_000_050, "PAPI_TOT_INS"),
    (42_000_059, "PAPI_TOT_CYC"),
    (42_000_089, "PAPI_L2_TCA"),
    (42_000_090, "PAPI_L3_TCA"),
];

/// The name of a Paraver event's counter whose label says none.
pub fn of_extrae(kind: u64) -> Option<&'static str> {
    EXTRAE.iter().find(|e| e.0 == kind).map(|e| e.1)
}

/// The counters that are kept.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Names in the run.
    pub names: Vec<String>,
    /// Of each counter of the trace its place among them.
    pub places: Vec<Option<usize>>,
    /// Sentences about what was left out or means something else.
    pub notes: Vec<String>,
}

/// What counts as the same name: no case, no prefix of a library, no modifiers (`perf::CYCLES:u`).
fn plain(name: &str) -> String {
    let name = name.trim().to_lowercase().replace('_', "-");
    let name = name.strip_prefix("perf::").unwrap_or(&name);
    name.split(':').next().unwrap_or(name).to_string()
}

/// Chooses among counters with these names: first those that passes know, then the others in their order, as far as there
/// is room.
pub fn choose(all: &[&str]) -> Counters {
    let known: Vec<String> = all.iter().map(|n| plain(n)).collect();
    let at = |name: &str| known.iter().position(|k| k == name);
    let mut wanted: Vec<(usize, &str)> = Vec::new();
    for (name, theirs) in PLAIN {
        wanted.extend(theirs.iter().find_map(|t| Some((at(t)?, name))));
    }
    let mut notes = Vec::new();
    if let Some(cache) = CACHES.iter().find(|c| at(c[0]).is_some()) {
        let of = cache.iter().zip(OF_CACHE);
        wanted.extend(of.filter_map(|(theirs, name)| Some((at(theirs)?, name))));
        if cache[0].contains("l2") {
            notes.push("Counters: cache_misses are those of the second level (PAPI_L2_TCM), not all of which go to memory.".to_string());
        }
    }
    let mut out = Counters {
        places: vec![None; all.len()],
        ..Default::default()
    };
    let own = |name: &str| name.split_whitespace().collect::<Vec<_>>().join("_");
    let mut left = Vec::new();
    let named = wanted.iter().map(|(i, name)| (*i, (*name).to_string()));
    let mut order: Vec<(usize, String)> = named.collect();
    order.extend(all.iter().enumerate().map(|(i, name)| (i, own(name))));
    for (i, name) in order {
        let taken = out.places.get(i).copied().flatten().is_some();
        if taken || name.is_empty() {
            continue;
        }
        // The same counter defined twice is one.
        let same = |k: &usize| all.get(*k).zip(all.get(i)).is_some_and(|(a, b)| a == b);
        let twin = (0..i).find(same).and_then(|k| out.places.get(k).copied());
        let letters = out.names.iter().map(|n| n.len() + 1).sum::<usize>() + name.len() + 1;
        let fits = out.names.len() < MOST_COUNTERS && letters <= MOST_LETTERS;
        let place = match twin {
            Some(twin) => twin,
            None if fits && !out.names.contains(&name) => {
                out.names.push(name);
                Some(out.names.len() - 1)
            }
            None => {
                left.push(name);
                None
            }
        };
        if let Some(slot) = out.places.get_mut(i) {
            *slot = place;
        }
    }
    if !left.is_empty() {
        notes.push(format!(
            "Counters that a run has no room for were left out: {}.",
            left.join(", ")
        ));
    }
    out.notes = notes;
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_have_one_name_whoever_counted() {
        let names = |all: &[&str]| choose(all).names;
        let ours = ["instructions", "cycles", "cache_misses", "cache_references"];
        let papi = ["PAPI_L3_TCA", "PAPI_TOT_CYC", "PAPI_L3_TCM", "PAPI_TOT_INS"];
        assert_eq!(names(&papi), ours);
        assert_eq!(choose(&papi).places, [3, 1, 2, 0].map(Some));
        let perf = [
            "cpu-cycles",
            "perf::INSTRUCTIONS:u",
            "cache-misses",
            "cache-references",
        ];
        assert_eq!(names(&perf), ours);
        assert_eq!(of_extrae(42_000_050), Some("PAPI_TOT_INS"));
        assert_eq!(of_extrae(42_000_051), None);
    }

    #[test]
    fn misses_and_references_are_of_one_cache() {
        let chosen = choose(&["PAPI_L2_TCM", "PAPI_L3_TCA"]);
        assert_eq!(chosen.names, ["cache_misses", "PAPI_L3_TCA"]);
        assert!(chosen.notes[0].contains("second level"));
        let both = choose(&["PAPI_L2_TCM", "PAPI_L2_TCA", "PAPI_L3_TCM"]);
        assert_eq!(both.names, ["cache_misses", "PAPI_L2_TCM", "PAPI_L2_TCA"]);
        assert!(both.notes.is_empty());
    }

    #[test]
    fn what_there_is_no_room_for_is_said_and_what_passes_know_comes_first() {
        let many: Vec<String> = (0..9).map(|n| format!("event {n}")).collect();
        let mut all: Vec<&str> = many.iter().map(String::as_str).collect();
        all.extend(["PAPI_TOT_INS", "cycles", "PAPI_TOT_CYC", "event 1"]);
        let chosen = choose(&all);
        assert_eq!(chosen.names[..3], ["instructions", "cycles", "event_0"]);
        assert_eq!(chosen.names.len(), 8);
        assert_eq!(chosen.places[12], chosen.places[1], "defined twice");
        let said = "left out: event_6, event_7, event_8, cycles.";
        assert!(chosen.notes[0].ends_with(said), "{:?}", chosen.notes);
        let long = "x".repeat(200);
        let longer = format!("y{long}");
        assert_eq!(choose(&[&long, &longer]).names, [long]);
    }
}
