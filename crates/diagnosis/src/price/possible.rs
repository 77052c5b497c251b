//! Checks a diagnosis for what is impossible, whatever was recorded: more waiting than there was time, gains beyond the
//! loss.

use crate::find::class::{self, Most};
use headwater_model::diagnosis::{Cause, CauseClass, Diagnosis, ScaleSummary};

/// How far figures may differ by rounding: a share of them, and seconds.
const SHARE: f64 = 1e-3;
const SECONDS: f64 = 1e-6;

/// Whether `a` is at most `b`, except for rounding. An unknown figure breaks no rule.
fn within(a: f64, b: f64) -> bool {
    a.is_nan() || b.is_nan() || a <= b * (1.0 + SHARE) + SECONDS
}

/// A sentence for each impossible statement in a diagnosis; empty for a sound one.
pub fn impossible(d: &Diagnosis) -> Vec<String> {
    let mut out = Vec::new();
    for s in &d.scales {
        out.extend(of_scale(s));
    }
    let of = |c: &Cause| d.scales.iter().find(|s| s.ranks == c.scale);
    let readings = d.other_reading.iter().flat_map(|r| &r.causes);
    for (i, c) in d.causes.iter().chain(readings).enumerate() {
        let named = |what: String| format!("cause {}: {what}", i + 1);
        out.extend(
            of(c)
                .map(|s| of_cause(c, s))
                .unwrap_or_default()
                .into_iter()
                .map(named),
        );
    }
    out.extend(of_account(d));
    out
}

/// The most that a cause on `ranks` can cost: the time of the rank that spent most there or, where ranks may be late
/// one after another, of all of them; 0 where it is unknown.
pub fn spent(class: CauseClass, ranks: &[u32], by_rank: &[f64]) -> f64 {
    let rows = ranks
        .iter()
        .filter_map(|r| by_rank.get(*r as usize).copied());
    match class::of(class).most {
        Most::AllRanks => rows.sum(),
        Most::Unknown => 0.0,
        Most::OneRank => rows.fold(0.0, f64::max),
    }
}

fn of_scale(s: &ScaleSummary) -> Vec<String> {
    let e = &s.efficiencies;
    let shares = [
        ("parallel efficiency", e.parallel),
        ("load balance", e.load_balance),
        ("communication efficiency", e.communication),
        ("serialisation", e.serialisation),
        ("transfer", e.transfer),
        ("share of waiting for a core", Some(s.runq_share)),
    ];
    let wrong = shares.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|v| !is_share(*v))?;
        Some(format!("{} ranks: {name} is {value}", s.ranks))
    });
    wrong.collect()
}

fn is_share(v: f64) -> bool {
    v.is_nan() || (0.0..=1.0 + 1e-9).contains(&v)
}

fn of_cause(c: &Cause, s: &ScaleSummary) -> Vec<String> {
    let mut out = Vec::new();
    let mut hold = |holds: bool, what: String| {
        if !holds {
            out.push(what);
        }
    };
    let before = if c.class == CauseClass::Startup {
        c.by_rank.iter().copied().fold(0.0, f64::max)
    } else {
        0.0
    };
    let run = s.wall_seconds.max(s.model_seconds) + before;
    for step in &c.path {
        hold(
            within(step.seconds, run),
            format!("a step of {} s in a run of {run} s", step.seconds),
        );
    }
    hold(
        is_share(c.gain_share) && is_share(c.cost_share),
        format!("shares of {} and {}", c.gain_share, c.cost_share),
    );
    let (least, most) = c.gain_range_seconds;
    hold(
        least >= 0.0 && within(least, c.gain_seconds) && within(c.gain_seconds, most),
        format!("a gain of {} s outside {least} to {most} s", c.gain_seconds),
    );
    let spent = spent(c.class, c.ranks.as_slice(), &c.by_rank);
    hold(
        spent <= 0.0 || within(c.cost_seconds, spent),
        format!("a cost of {} s where ranks spent {spent} s", c.cost_seconds),
    );
    if let Some(waiting) = c.waiting_seconds {
        let all = run * f64::from(s.ranks);
        hold(
            waiting >= 0.0 && within(waiting, all),
            format!("{waiting} s of waiting in {all} s of all ranks"),
        );
    }
    out
}

fn of_account(d: &Diagnosis) -> Vec<String> {
    let mut out = Vec::new();
    let account = &d.account;
    let parts: f64 = account.parts.iter().map(|p| p.seconds).sum();
    if !within(parts, account.loss_seconds) || !within(account.loss_seconds, parts) {
        let loss = account.loss_seconds;
        out.push(format!("parts of {parts} s in a loss of {loss} s"));
    }
    let shares = account.parts.iter().map(|p| p.share);
    if !shares.chain([account.loss_share]).all(is_share) {
        out.push("a share of the loss is no share".to_string());
    }
    let gains: f64 = d.causes.iter().map(|c| c.gain_seconds).sum();
    // Without a known loss there is nothing to compare with: ranks paused recording differently.
    if account.loss_seconds > 0.0 && !within(gains, account.loss_seconds) {
        let loss = account.loss_seconds;
        out.push(format!("gains of {gains} s in a loss of {loss} s"));
    }
    out
}
