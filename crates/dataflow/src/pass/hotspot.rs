//! Hotspot detection (PerFlow, section 4.3.2 A): the vertices with the most of a metric.

use crate::flow::{Gives, Kind, Pass};
use crate::set::{Set, SetError};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "hotspot",
            "The vertices with the most of a metric, the largest first.",
            |call| {
                let (metric, n) = (call.text("metric"), call.count("n"));
                Ok(vec![hotspot(call.vertices(0)?, metric, n)?.into()])
            },
        )
        .takes("V", Kind::SET)
        .with("metric", "time", "metric; time is seconds")
        .with("n", 10.0, "vertices at the most")
        .whole_from(0.0)
        .gives(Gives::AsArgument(0)),
    ]
}

/// The `n` vertices with the most of `metric`, the largest first; those that have none of it are left out.
///
/// # Errors
/// If vertices have no such metric, or it is words.
pub fn hotspot(set: &Set, metric: &str, n: usize) -> Result<Set, SetError> {
    let values = set.numbers(metric)?;
    let mut some: Vec<(f64, u32)> = (0..)
        .zip(values)
        .filter_map(|(i, v)| Some((v.filter(|v| *v > 0.0)?, i)))
        .collect();
    // If there are many, only the first are sorted.
    let order = |a: &(f64, u32), b: &(f64, u32)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
    if n < some.len() {
        some.select_nth_unstable_by(n, order);
        some.truncate(n);
    }
    some.sort_unstable_by(order);
    let vertices = some.iter().map(|s| set.vertices()[s.1 as usize]).collect();
    Ok(Set::of(set.view(), vertices, Vec::new()))
}
