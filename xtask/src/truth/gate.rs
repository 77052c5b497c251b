//! What the fixed cases of every CI run must hold.

use super::results::Row;
use crate::shell::Done;

/// What a CI run must hold: cases can be made and recorded, and no figure is impossible. How many answers are right is
/// printed and not asked for: of so few cases on a machine whose cores are shared, 2 to 4 of 8 were right for one build.
pub fn gate(rows: &[Row]) -> Done {
    let counted: Vec<&Row> = rows.iter().filter(|r| r.counts()).collect();
    let mut wrong = Vec::new();
    for row in &counted {
        wrong.extend(
            row.failures
                .iter()
                .map(|f| format!("case {}: {f}", row.number)),
        );
        let impossible = row.scored.iter().flat_map(|s| &s.impossible);
        wrong.extend(impossible.map(|i| format!("case {}: {i}", row.number)));
    }
    if counted.len() * 2 < rows.len() {
        wrong.push(format!(
            "only {} of {} cases could be made",
            counted.len(),
            rows.len()
        ));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u64, dropped: Option<&str>) -> Row {
        let manifest = serde_json::json!({
            "seed": 1, "scales": [2], "scaling": "strong", "planted": null, "clean": {},
            "wish": {
                "number": number, "code": "a", "what": "control", "who": "all", "place": "hot", "dose": 0.1,
                "own_work": true, "scaling_given": false, "stream": 1
            }
        });
        Row {
            number,
            code: "a".into(),
            dropped: dropped.map(str::to_string),
            manifest: serde_json::from_value(manifest).expect("a manifest"),
            hash: String::new(),
            scored: Vec::new(),
            once: Vec::new(),
            failures: Vec::new(),
            seconds: 1.0,
        }
    }

    #[test]
    fn half_of_the_cases_may_be_dropped_and_no_recording_may_fail() {
        let mut rows = vec![row(0, None), row(1, Some("too cheap"))];
        assert_eq!(gate(&rows), Ok(()));
        rows.push(row(2, Some("too cheap")));
        assert!(gate(&rows).is_err_and(|e| e.contains("1 of 3 cases")));
        rows.pop();
        rows[0].failures.push("the diagnosis cannot be read".into());
        assert!(gate(&rows).is_err_and(|e| e.contains("case 0")));
    }
}
