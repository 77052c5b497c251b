//! Which executed statement a wish is planted at.
//!
//! All sites that the method can be planted at are put into a random order of the case's own; those of the wanted
//! kind of place come first. The bench takes the first that builds and runs.

use super::plan::{Random, What, Where, Who, Wish};
use super::plant::{self, Method};
use super::sites::Site;
use super::tokens::Kind;

/// Above so many executions the question after the dose would itself take time.
const MOST_EXECUTIONS: u64 = 300_000;

/// Above so many executions added messages would be all that the program does.
const MOST_MESSAGES: u64 = 5_000;

/// Functions with at least this share of the executed lines are hot, with less than the other cold.
const HOT: f64 = 0.05;
const COLD: f64 = 0.003;

/// Whether a site is of the wanted kind.
pub fn is_of(site: &Site, place: Where) -> bool {
    match place {
        Where::Hot => site.heat >= HOT,
        Where::Warm => (COLD..HOT).contains(&site.heat),
        Where::Cold => site.heat < COLD,
        Where::Deep => site.statement.depth > 0,
        Where::Inlined => site.inlined,
        Where::SeveralPaths => site.callers > 1,
        Where::Template => site.template,
    }
}

/// Whether the method can be planted at a site with a sense.
fn suits(site: &Site, wish: &Wish, method: Method) -> bool {
    let s = &site.statement;
    let count = site.count();
    let threads = matches!(wish.what, What::Thread | What::Lock);
    // The count of an inner loop's line is that of its iterations as well: the limit is generous there.
    let known = plant::can(method, site) && count > 0;
    let form = match method {
        Method::Repeat => s.repeatable && matches!(s.kind, Kind::Loop | Kind::Call) && !s.directed,
        _ if threads => s.parallel_body.is_some(),
        _ if wish.what == What::Serial => s.parallel_body.is_none() && !s.directed,
        _ => !s.directed && s.parallel_body.is_none(),
    };
    let often = match method {
        Method::Message | Method::Chain => site.is_even() && (2..=MOST_MESSAGES).contains(&count),
        Method::Repeat if s.kind == Kind::Loop => count <= 100 * MOST_EXECUTIONS,
        Method::Repeat => count <= MOST_EXECUTIONS,
        _ => count <= MOST_EXECUTIONS,
    };
    // A rank that never gets there cannot have the cause.
    let reached = site.counts.iter().all(|c| *c > 0);
    let turns = wish.who != Who::Turns || (site.is_even() && count >= 32);
    known && form && often && reached && turns
}

/// Sites in the order in which they are tried.
pub fn order<'a>(sites: &'a [Site], wish: &Wish, method: Method) -> Vec<&'a Site> {
    let mut random = Random::new(wish.stream, 1);
    let mut all: Vec<(bool, u64, &Site)> = sites
        .iter()
        .filter(|s| suits(s, wish, method))
        .map(|s| (!is_of(s, wish.place), random.next(), s))
        .collect();
    all.sort_by_key(|s| (s.0, s.1));
    // A function is tried once before another statement of it is.
    let mut seen = std::collections::BTreeSet::new();
    let (mut first, mut later) = (Vec::new(), Vec::new());
    for (_, _, site) in all {
        if seen.insert((&site.file, &site.function)) {
            first.push(site);
        } else {
            later.push(site);
        }
    }
    first.extend(later);
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::tokens::Statement;

    fn site(function: &str, count: u64, heat: f64) -> Site {
        Site {
            file: "a.c".into(),
            statement: Statement {
                kind: Kind::Loop,
                first: 3,
                last: 4,
                repeatable: true,
                innermost: true,
                depth: 0,
                directed: false,
                parallel_body: None,
            },
            function: function.into(),
            counts: vec![count, count],
            heat,
            callers: 1,
            inlined: false,
            template: false,
        }
    }

    fn wish(what: What, place: Where) -> Wish {
        Wish {
            number: 0,
            code: "a".into(),
            what,
            who: Who::Border,
            place,
            dose: 0.1,
            own_work: true,
            scaling_given: false,
            stream: 9,
        }
    }

    #[test]
    fn the_wanted_kind_of_place_comes_first() {
        let sites = [site("f", 9, 0.5), site("g", 9, 0.01), site("h", 9, 0.0)];
        for (place, name) in [(Where::Hot, "f"), (Where::Warm, "g"), (Where::Cold, "h")] {
            let order = order(&sites, &wish(What::Uneven, place), Method::Repeat);
            assert_eq!(order[0].function, name);
            assert_eq!(order.len(), 3);
        }
    }

    #[test]
    fn messages_need_statements_that_all_ranks_execute_alike() {
        let mut sites = [site("f", 9, 0.5), site("g", 9, 0.5)];
        sites[0].counts = vec![9, 8];
        let wish = wish(What::Message, Where::Hot);
        let order = order(&sites, &wish, Method::Message);
        assert_eq!(order.len(), 1);
        assert_eq!(order[0].function, "g");
    }
}
