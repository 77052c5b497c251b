//! Aligns two rows of nodes by their longest common subsequence (ScalaTrace II, sections 3.2.1 and 3.4).
//!
//! The result is a row that has both as subsequences, so whatever one of them executes stays in its order. The same
//! alignment serves iterations of a loop and the traces of different ranks.

/// A step through both rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The next node of both rows is the same.
    Both,
    /// The next node of the left row alone.
    Left,
    /// The next node of the right row alone.
    Right,
}

/// The largest table of the longest common subsequence. Rows whose differing parts are longer are not compared there:
/// the left part comes before the right one.
const MOST_CELLS: usize = 1 << 18;

/// Aligns rows of `left` and `right` nodes, of which `same(i, j)` says whether node `i` of the left one matches node
/// `j` of the right one.
pub fn align(left: usize, right: usize, mut same: impl FnMut(usize, usize) -> bool) -> Vec<Step> {
    let mut begin = 0;
    while begin < left.min(right) && same(begin, begin) {
        begin += 1;
    }
    let mut end = 0;
    while end < left.min(right) - begin && same(left - 1 - end, right - 1 - end) {
        end += 1;
    }
    let (rows, columns) = (left - begin - end, right - begin - end);
    let mut steps = vec![Step::Both; begin];
    if rows == 0 || columns == 0 || rows.saturating_mul(columns) > MOST_CELLS {
        steps.extend(std::iter::repeat_n(Step::Left, rows));
        steps.extend(std::iter::repeat_n(Step::Right, columns));
    } else {
        between(rows, columns, |i, j| same(begin + i, begin + j), &mut steps);
    }
    steps.extend(std::iter::repeat_n(Step::Both, end));
    steps
}

/// The longest common subsequence by a table of its lengths.
fn between(
    rows: usize,
    columns: usize,
    mut same: impl FnMut(usize, usize) -> bool,
    steps: &mut Vec<Step>,
) {
    let width = columns + 1;
    // For each pair of positions, the length from there on, and whether the nodes match.
    let mut lengths = vec![(0_u32, false); (rows + 1) * width];
    for i in (0..rows).rev() {
        for j in (0..columns).rev() {
            let matches = same(i, j);
            let longest = if matches {
                lengths[(i + 1) * width + j + 1].0 + 1
            } else {
                lengths[(i + 1) * width + j]
                    .0
                    .max(lengths[i * width + j + 1].0)
            };
            lengths[i * width + j] = (longest, matches);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < rows || j < columns {
        if i < rows && j < columns && lengths[i * width + j].1 {
            steps.push(Step::Both);
            (i, j) = (i + 1, j + 1);
        } else if i < rows
            && (j == columns || lengths[(i + 1) * width + j].0 >= lengths[i * width + j + 1].0)
        {
            steps.push(Step::Left);
            i += 1;
        } else {
            steps.push(Step::Right);
            j += 1;
        }
    }
}
