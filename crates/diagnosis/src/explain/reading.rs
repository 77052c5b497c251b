//! Reports both answers where it is not certain how the problem grows.
//!
//! The figures use the kind of scaling that [`crate::measure::scaling`] chose; its causes are in their usual order and
//! say whether they also hold under the other kind. Causes that hold under the other kind only are listed separately.

use crate::explain::repeat::is_same;
use crate::explain::words;
use headwater_model::diagnosis::{Diagnosis, Reading, Scaling};

/// The other kind of scaling.
pub fn other(scaling: Scaling) -> Option<Scaling> {
    match scaling {
        Scaling::Strong => Some(Scaling::Weak),
        Scaling::Weak => Some(Scaling::Strong),
        Scaling::Single => None,
    }
}

/// The sentence with which the answer for a kind of scaling begins, where `added` is what is added.
fn condition(scaling: Scaling, added: &str) -> String {
    match scaling {
        Scaling::Weak => format!("If it grows with the {added} (weak scaling)"),
        Scaling::Strong | Scaling::Single => {
            "If the problem is the same at every scale (strong scaling)".to_string()
        }
    }
}

/// Joins the diagnosis under the other kind of scaling to `d`; `shared` is a sentence that begins both.
pub fn join(d: &mut Diagnosis, other: Diagnosis, shared: Option<&String>) {
    for cause in &mut d.causes {
        let holds = other.causes.iter().any(|c| is_same(cause, c));
        cause.only_if = (!holds).then_some(d.scaling);
    }
    let mut causes = other.causes;
    causes.retain(|c| !d.causes.iter().any(|own| is_same(own, c)));
    causes
        .iter_mut()
        .for_each(|c| c.only_if = Some(other.scaling));
    let own = d.headline.clone();
    let own: Vec<&String> = own.iter().filter(|s| Some(*s) != shared).collect();
    let others: Vec<&String> = (other.headline.iter())
        .filter(|s| Some(*s) != shared)
        .collect();
    let joined = |sentences: &[&String]| {
        let all: Vec<&str> = sentences.iter().map(|s| s.as_str()).collect();
        all.join(" ")
    };
    let mut headline: Vec<String> = shared.cloned().into_iter().collect();
    // The answer says it here, so no note is needed.
    let doubt = words::doubt(d);
    d.notes.retain(|note| Some(note) != doubt.as_ref());
    headline.extend(doubt);
    headline.push(format!(
        "{}: {}",
        condition(d.scaling, d.added()),
        joined(&own)
    ));
    headline.push(format!(
        "{}: {}",
        condition(other.scaling, d.added()),
        joined(&others)
    ));
    let reading = Reading {
        scaling: other.scaling,
        headline: others.into_iter().cloned().collect(),
        causes,
    };
    d.headline = headline;
    d.other_reading = Some(reading);
}
