//! Small bars of unicode blocks.

const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Columns that a bar of ranks has at the most.
const WIDEST: usize = 64;

/// One column for each value, or for each bucket of values (the largest of it) where there are many.
pub fn columns(values: &[f64]) -> String {
    let most = values.iter().copied().fold(0.0, f64::max);
    if values.is_empty() || most <= 0.0 {
        return String::new();
    }
    let bucket = values.len().div_ceil(WIDEST);
    values
        .chunks(bucket)
        .map(|c| c.iter().copied().fold(0.0, f64::max))
        .map(|v| {
            let step = (v / most * 8.0).ceil() as usize;
            if step == 0 {
                ' '
            } else {
                EIGHTHS[(step - 1).min(7)]
            }
        })
        .collect()
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
        assert_eq!(columns(&[0.0, 1.0, 2.0]), " ▄█");
        assert_eq!(columns(&vec![1.0; 1000]).chars().count(), 63);
        assert_eq!(columns(&[]), "");
        assert_eq!(bar(1.0, 2.0, 10), "█████");
    }
}
