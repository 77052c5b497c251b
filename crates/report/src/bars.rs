//! Small bars of unicode blocks.
//!
//! Never wider than asked for, however many ranks there are: ranks then share columns, and the
//! column shows the largest of them, so that a single late rank among thousands stays to be seen.

use headwater_model::rank::RankSet;

const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// How many values share a column if `values` are to fit `width` columns; at least 1.
pub fn per_column(values: usize, width: usize) -> usize {
    values.div_ceil(width.max(1)).max(1)
}

/// One column for each `bucket` values, as high as the largest of them.
pub fn columns(values: &[f64], bucket: usize) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    if most <= 0.0 {
        return String::new();
    }
    values
        .chunks(bucket.max(1))
        .map(|c| c.iter().copied().fold(0.0, f64::max))
        .map(|v| {
            let step = (v / most * 8.0).ceil() as usize;
            match step.checked_sub(1) {
                None => ' ',
                Some(i) => EIGHTHS.get(i).copied().unwrap_or('█'),
            }
        })
        .collect()
}

/// `^` under each column that holds one of `ranks`; `None` where that would mark all columns or none.
pub fn marks(ranks: &RankSet, values: usize, bucket: usize) -> Option<String> {
    let bucket = bucket.max(1);
    let mut marked = vec![false; values.div_ceil(bucket)];
    for rank in ranks.as_slice() {
        if let Some(slot) = marked.get_mut(*rank as usize / bucket) {
            *slot = true;
        }
    }
    let telling = marked.contains(&true) && marked.contains(&false);
    telling.then(|| {
        let line: String = marked.iter().map(|m| if *m { '^' } else { ' ' }).collect();
        line.trim_end().to_string()
    })
}

/// A bar from the left, `width` characters for `most`.
pub fn bar(value: f64, most: f64, width: usize) -> String {
    let n = if most > 0.0 {
        (value / most * width as f64).round() as usize
    } else {
        0
    };
    "█".repeat(n.min(width))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_ranks_share_columns() {
        assert_eq!(columns(&[0.0, 1.0, 2.0], 1), " ▄█");
        assert_eq!(per_column(1000, 64), 16);
        assert_eq!(columns(&vec![1.0; 1000], 16).chars().count(), 63);
        assert_eq!(columns(&[], 1), "");
        assert_eq!(bar(1.0, 2.0, 10), "█████");
    }

    #[test]
    fn one_late_rank_of_many_stays_to_be_seen() {
        let mut values = vec![1.0; 1024];
        values[777] = 8.0;
        let bucket = per_column(1024, 64);
        assert_eq!(columns(&values, bucket).chars().nth(777 / 16), Some('█'));
        let late: RankSet = [777].into_iter().collect();
        let line = marks(&late, 1024, bucket).unwrap();
        assert_eq!(line.chars().count(), 777 / 16 + 1);
    }

    #[test]
    fn marks_that_tell_nothing_are_left_out() {
        assert_eq!(marks(&RankSet::all(4), 4, 1), None);
        assert_eq!(marks(&RankSet::default(), 4, 1), None);
        let odd: RankSet = [1, 3].into_iter().collect();
        assert_eq!(marks(&odd, 4, 1).as_deref(), Some(" ^ ^"));
        assert_eq!(marks(&odd, 4, 2), None);
        // Ranks that the values do not cover are not marked.
        assert_eq!(marks(&[9].into_iter().collect(), 4, 1), None);
    }
}
