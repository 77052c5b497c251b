//! Why ranks differ, or do not do less on more ranks, by what the compiler knows of bounds and conditions (ScalAna, section
//! III-A). Nothing is said where the compiler's structure is missing or does not know.

use crate::measure::same_work::{VARYING, is_equal_everywhere, is_known, runs_the_same};
use headwater_graph::{Deciding, Pag, VertexIx, Where};
use headwater_model::dependence::{Condition, Origin, Source};
use headwater_model::diagnosis::{CauseClass, Evidence};

/// Origins that differ between ranks, the ones that say most first.
const DIFFERING: [Origin; 3] = [Origin::Rank, Origin::Message, Origin::Reduction];

/// What the compiler adds to a cause of a class at a place.
pub fn evidence(pag: &Pag, v: VertexIx, class: CauseClass) -> Option<Evidence> {
    let deciding = pag.deciding(v);
    let find = |origins: &[Origin], fits: &dyn Fn(Where, &Condition, &Source) -> bool| {
        let each = origins.iter().find_map(|origin| {
            let mut all = deciding.conditions.iter();
            all.find_map(|(place, c)| {
                let mut sources = c.sources.iter().filter(|s| s.origin == *origin);
                let source = sources.find(|s| fits(*place, c, s))?;
                Some((*place, *c, source))
            })
        });
        each.map(|(place, condition, source)| sentence(place, condition, source))
    };
    match class {
        CauseClass::UnevenWork | CauseClass::SlowerWork => {
            let differs = |_: Where, _: &Condition, source: &Source| !is_equal_everywhere(source);
            let found = find(&DIFFERING, &differs);
            let equal = || {
                plain(
                    "by the compiler, nothing that decides how often it runs differs between ranks: they do the same, on other data or at another speed",
                )
            };
            let same = deciding.all(is_equal_everywhere);
            found.or_else(|| (is_known(&deciding) && same).then(equal))
        }
        CauseClass::NonShrinkingWork => {
            let bound = |place: Where, c: &Condition, _: &Source| c.bound && place != Where::Around;
            let found = find(&VARYING, &bound);
            found.or_else(|| runs_the_same(&deciding).then(|| same(&deciding)))
        }
        _ => None,
    }
}

/// The sentence if no bound depends on the number of ranks.
fn same(deciding: &Deciding<'_>) -> Evidence {
    let own = deciding.conditions.first().map(|(_, c)| *c);
    let source = own.and_then(|c| c.sources.first());
    let why = source.map(|source| match source.variable() {
        Some(variable) => format!(" (its bound `{variable}` comes from {})", source.words()),
        None => format!(" (its bound comes from {})", source.words()),
    });
    Evidence {
        text: format!(
            "by the compiler, how often it runs does not depend on the number of ranks: all do the same{}",
            why.unwrap_or_default()
        ),
        chain: source.map_or_else(Vec::new, |s| s.chain.clone()),
    }
}

fn plain(text: &str) -> Evidence {
    Evidence {
        text: text.to_string(),
        chain: Vec::new(),
    }
}

/// The sentence about one source of one condition.
fn sentence(place: Where, condition: &Condition, source: &Source) -> Evidence {
    let at = location(condition);
    let variable = source.variable().map(|v| format!(" `{v}`"));
    let variable = variable.unwrap_or_default();
    let subject = match (place, condition.bound) {
        (Where::Own, true) => format!("its bound{variable}"),
        (Where::Inside, true) => format!("the bound{variable} of the loop at {at} in it"),
        (Where::Around, true) => format!("the bound{variable} of the loop at {at} around it"),
        (Where::Own | Where::Inside, false) => {
            format!("the condition{variable} at {at} in it")
        }
        (Where::Around, false) => {
            format!("it runs only by the condition at {at}, whose value{variable}")
        }
    };
    Evidence {
        text: format!("by the compiler, {subject} comes from {}", source.words()),
        chain: source.chain.clone(),
    }
}

fn location(condition: &Condition) -> String {
    let file = condition.file.as_deref().unwrap_or("?");
    let base = file.rsplit('/').next().unwrap_or(file);
    format!("{base}:{}", condition.line)
}
