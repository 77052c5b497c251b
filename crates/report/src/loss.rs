//! Where the loss goes: a bar for each part, and the places whose losses are too small for a cause.

use crate::bars::bar;
use crate::style::{hang, percent, seconds, wrap};
use crate::tables::whereabouts;
use headwater_model::diagnosis::{Account, Against, ScaleSummary};
use headwater_model::words::Subject;

/// Share of the run below which a loss is no news.
const LEAST: f64 = 0.01;

/// Characters that the name of a part takes, and its figures.
const NAME: usize = 32;
const FIGURES: usize = 16;

/// Longest bar.
const WIDEST: usize = 24;

/// The account of the loss; empty where there is nearly none.
pub fn loss(
    account: &Account,
    subject: Subject,
    scale: Option<&ScaleSummary>,
    width: usize,
) -> String {
    if account.loss_share.is_nan() || account.loss_share < LEAST {
        return String::new();
    }
    let against = match account.against {
        Against::Even if subject.is_process() => "against threads that only compute, all alike",
        Against::Even => "against ranks that only compute, all alike",
        Against::Ideal => "against ideal scaling of the computation of the smallest scale",
    };
    let sentence = format!(
        "At {} {} of {} ({}) is lost, {against}.",
        scale.map_or_else(
            || headwater_model::words::count(account.ranks as usize),
            ScaleSummary::words
        ),
        seconds(account.loss_seconds),
        seconds(account.of_seconds),
        percent(account.loss_share).trim(),
    );
    let mut out = wrap(&sentence, width, " ");
    let room = width.saturating_sub(NAME + FIGURES + 6).clamp(4, WIDEST);
    let most = account.parts.iter().map(|p| p.seconds).fold(0.0, f64::max);
    for part in &account.parts {
        let figures = format!("{} {:>5}", seconds(part.seconds), percent(part.share));
        let bar = bar(part.seconds, most, room);
        let line = format!("  {:<NAME$}{figures:>FIGURES$}  {bar}", part.kind.words());
        out += line.trim_end();
        out.push('\n');
    }
    let small = account.small.as_ref().filter(|_| {
        use headwater_model::diagnosis::LossKind::{SmallGrowth, SmallUneven};
        account.share(SmallUneven) + account.share(SmallGrowth) >= LEAST
    });
    if let Some(small) = small {
        let largest = small.largest.iter().map(|l| {
            let place = whereabouts(&l.place, width / 2);
            format!("{} in {place}", seconds(l.seconds))
        });
        let largest: Vec<String> = largest.collect();
        let places = match small.places {
            1 => "the small losses are in one place:".to_string(),
            n => format!("the small losses are in {n} places, the largest"),
        };
        out += &hang(
            &format!("{places} {}", largest.join(", ")),
            width,
            "  ",
            "    ",
        );
    }
    out
}
