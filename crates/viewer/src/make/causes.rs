//! Causes: their places among the frames, steps, pictures, values, growth and source.

use super::sources::Shelf;
use super::{Subject, growth, near, picture, values};
use crate::model::causes::{CauseDetail, StepDetail};
use crate::model::graph::Neighbourhood;
use headwater_model::diagnosis::{Cause, Diagnosis};
use headwater_model::words;

/// All causes; what is around them goes into `near`.
pub fn causes(
    subject: &Subject,
    shelf: &mut Shelf<'_>,
    near: &mut Vec<Neighbourhood>,
) -> Vec<CauseDetail> {
    let d = &subject.diagnosed().diagnosis;
    let one = |c| cause(subject, d, c, shelf, near);
    d.causes.iter().map(one).collect()
}

fn cause(
    subject: &Subject,
    d: &Diagnosis,
    c: &Cause,
    shelf: &mut Shelf<'_>,
    near: &mut Vec<Neighbourhood>,
) -> CauseDetail {
    let frames = subject.frames();
    let own = frames.along(&c.place, &c.call_path);
    let of_steps: Vec<Vec<u32>> = c.path.iter().map(|s| frames.at(&s.place)).collect();
    let steps = c.path.iter().zip(&of_steps).map(|(s, frames)| StepDetail {
        words: format!("{} {}", d.subject().who(&s.ranks, c.scale, 40), s.what),
        location: words::location(&s.place),
        frames: frames.clone(),
        source: shelf.put(&s.place),
    });
    let steps: Vec<StepDetail> = steps.collect();
    let (pictures, picture_missing) = match picture::pictures(subject, c, &of_steps) {
        Ok(pictures) => (pictures, None),
        Err(why) => (Vec::new(), Some(why)),
    };
    let scale = subject
        .runs()
        .iter()
        .rposition(|r| r.run().header.ranks == c.scale);
    let around = scale.and_then(|scale| {
        let run = subject.runs().get(scale)?;
        // What a person sees is what the path is about: its places on the ranks of the cause.
        let ranks = c.ranks.as_slice();
        near::around(run, scale as u32, frames, &own, ranks, &of_steps)
    });
    let neighbourhood = around.map(|n| {
        near.push(n);
        near.len() as u32 - 1
    });
    CauseDetail {
        title: headwater_report::cause_title(c),
        class_words: c.class.words().to_string(),
        source: shelf.put(&c.place),
        frames: own,
        steps,
        pictures,
        picture_missing,
        by_rank: values::values(c),
        growth: growth::growth(c, d.scaling),
        ruled_out: ruled_out(subject),
        neighbourhood,
    }
}

/// Passes that return candidates, but look for none: they judge or change those of the others.
const NO_FINDERS: [&str; 5] = ["charge", "to-workers", "to-program", "placement", "ranked"];

/// Sentences about finders that looked for other causes in the whole program and found nothing.
fn ruled_out(subject: &Subject) -> Vec<String> {
    let of = subject.diagnosed();
    let drawn = of.flow.drawn();
    let mut out = Vec::new();
    for (node, returned) in drawn.iter().zip(&of.returned) {
        let nothing = matches!(returned.as_deref(), Some("0 candidates" | "0 proposals"));
        let about = node.about.as_deref().unwrap_or("");
        let looks = !NO_FINDERS.contains(&node.name.as_str());
        if nothing && looks && !about.is_empty() {
            let about = about.trim_end_matches('.');
            out.push(format!("{about}: nothing found."));
        }
    }
    out
}
