//! Teams that one place of the source begins are one: a function that begins a team may be called from many places.

use crate::measure::stretch::Stretch;
use crate::measure::teams::{Team, Teams};
use headwater_dataflow::numbers::stats;
use headwater_graph::{Pag, Site};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// All teams, in the order of their vertices; those of one place in the source are joined. Pools and teams of which the
/// source is not known stay alone.
pub fn by_site<'a>(pag: &Pag, teams: &'a Teams) -> Vec<Cow<'a, Team>> {
    let mut out: Vec<Cow<'a, Team>> = Vec::new();
    let mut at: BTreeMap<Site, Vec<(f64, &'a Team)>> = BTreeMap::new();
    for team in &teams.teams {
        let site = pag.top.site(team.vertex);
        match site.filter(|_| teams.pool(team).is_none()) {
            Some(site) => {
                let lost = stats::max(&team.losses(Stretch::imbalance));
                at.entry(site).or_default().push((lost, team));
            }
            None => out.push(Cow::Borrowed(team)),
        }
    }
    for mut of_site in at.into_values() {
        of_site.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.vertex.cmp(&b.1.vertex)));
        match of_site[..] {
            [(_, one)] => out.push(Cow::Borrowed(one)),
            _ => out.extend(together(pag, &of_site).map(Cow::Owned)),
        }
    }
    out.sort_by_key(|team| team.vertex);
    out
}

/// Several teams as one, which begins where the first of them does; `None` if there are none.
fn together(pag: &Pag, teams: &[(f64, &Team)]) -> Option<Team> {
    let ((_, first), others) = teams.split_first()?;
    let mut all = (*first).clone();
    for (_, other) in others {
        all.calls.extend(&other.calls);
        all.stretches.extend(other.stretches.iter().cloned());
        all.joined |= other.joined;
        // On a seldom path, no sample may have been taken inside.
        all.inside |= other.inside;
        all.around = pag.top.common_ancestor(all.around, other.around);
        all.keys.extend(&other.keys);
        all.starts.extend(&other.starts);
        all.shared.extend(&other.shared);
    }
    all.stretches.sort_by_key(|s| s.rank);
    all.keys.sort_unstable();
    all.keys.dedup();
    // The part that the rank felt of all losses, by what it felt of each.
    all.felt.fill(1.0);
    let lost = all.losses(Stretch::imbalance);
    let mut felt = vec![0.0; all.felt.len()];
    for (_, team) in teams {
        let losses = team.losses(Stretch::imbalance);
        felt.iter_mut().zip(losses).for_each(|(sum, l)| *sum += l);
    }
    for ((part, felt), lost) in all.felt.iter_mut().zip(felt).zip(lost) {
        if lost > 0.0 {
            *part = felt / lost;
        }
    }
    Some(all)
}
