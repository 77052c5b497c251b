//! `stat<r>.txt`: the samples of a rank by vertex, and their share of all samples, from which those outside of the tree
//! follow (ScalAna, section III-C).

use super::lines::Lines;
use super::samples::Samples;
use super::tree::{Figures, Tree};
use crate::ImportError;
use std::path::Path;

/// Shares have six digits, and may have been rounded by others.
const ROUNDED: f64 = 0.01;

/// Less than this part of all samples outside of the tree is rounding.
const EXACT: f64 = 1e-5;

/// Samples of a rank at the most.
const MOST: u64 = 1 << 40;

/// A `stat` file.
pub struct Stat {
    /// Its tree.
    pub tree: Tree,
    /// Samples by vertex of it.
    pub samples: Samples,
}

/// Reads one.
///
/// # Errors
/// What is no such file, or contradicts itself.
pub fn read(path: &Path) -> Result<Stat, ImportError> {
    let mut lines = Lines::open(path)?;
    let (tree, figures) = Tree::read_stat(&mut lines)?;
    let all = all(path, &tree, &figures)?;
    let of: Vec<u64> = figures.iter().map(|f| f.samples).collect();
    let inside: u64 = of.iter().sum();
    let outside = all.saturating_sub(inside);
    let outside = match outside as f64 > EXACT * all as f64 {
        true => outside,
        false => 0,
    };
    let samples = Samples { of, outside };
    Ok(Stat { tree, samples })
}

/// All samples of the rank: those of the vertex with the most, divided by their share.
fn all(path: &Path, tree: &Tree, figures: &[Figures]) -> Result<u64, ImportError> {
    let at = |i: usize| tree.vertices.get(i).map_or(0, |v| v.at);
    let wrong = |i: usize, why: String| ImportError::line(path, at(i), why);
    let mut inside: u64 = 0;
    for (i, f) in figures.iter().enumerate() {
        inside = inside.saturating_add(f.samples);
        if inside > MOST {
            return Err(wrong(i, format!("there are more than {MOST} samples")));
        }
        if (f.samples > 0) != (f.share > 0.0) {
            let (n, share) = (f.samples, f.share);
            return Err(wrong(
                i,
                format!("{n} samples cannot be a share of {share} of the time"),
            ));
        }
    }
    let most =
        (0..figures.len()).max_by_key(|i| figures.get(*i).map(|f| (f.samples, usize::MAX - i)));
    let most = most.and_then(|i| Some((i, *figures.get(i)?)));
    let Some((largest, f)) = most.filter(|(_, f)| f.samples > 0) else {
        return Ok(0);
    };
    let all = f.samples as f64 / f.share;
    for (i, f) in figures.iter().enumerate().filter(|(_, f)| f.samples > 0) {
        let share = f.samples as f64 / all;
        if (share - f.share).abs() > ROUNDED * share {
            let line = at(largest);
            return Err(wrong(
                i,
                format!(
                    "{} samples are a share of {share:.4} by line {line}, and not of {}",
                    f.samples, f.share
                ),
            ));
        }
    }
    if all > MOST as f64 || inside as f64 > all * (1.0 + ROUNDED) {
        return Err(wrong(
            largest,
            format!("by its share the rank has {all:.0} samples, and the vertices have {inside}"),
        ));
    }
    Ok(all.round() as u64)
}

/// The first difference between the trees of two ranks: the line of the second one, and what is there.
pub fn difference(first: &Tree, other: &Tree) -> Option<(u64, String)> {
    for (a, b) in first.vertices.iter().zip(&other.vertices) {
        let same = (a.id, a.kind, a.place, a.lines) == (b.id, b.kind, b.place, b.lines);
        if !same || a.children.len() != b.children.len() {
            return Some((b.at, format!("vertex {} is another one", b.id)));
        }
    }
    let last = other.vertices.last().map_or(1, |v| v.at);
    if first.vertices.len() != other.vertices.len() {
        let (n, m) = (other.vertices.len(), first.vertices.len());
        return Some((last, format!("there are {n} vertices, and not {m}")));
    }
    if (&first.dirs, &first.files) != (&other.dirs, &other.files) {
        return Some((last + 1, "the tables of names are others".to_string()));
    }
    None
}
