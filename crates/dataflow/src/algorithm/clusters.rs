//! Clusters ranks that behave alike: k-means on a vector of figures for each rank.
//!
//! The first centre is the vector farthest from the mean; each next one is the vector farthest from all centres so far
//! (Gonzalez 1985). Lloyd's iterations follow. Nothing is random, and ties go to the smaller rank. The number of
//! clusters is chosen by the mean silhouette, in its simple form against centres (Kaufman and Rousseeuw 1990; Hruschka
//! et al. 2006): the number from two on with the largest one, if that is over a half. From there on the authors call a
//! structure reasonable. Otherwise all ranks are one cluster.

use crate::algorithm::Interrupted;

/// At most this many rounds.
const ROUNDS: usize = 100;

/// Mean silhouette that clusters must have.
const REASONABLE: f64 = 0.5;

/// How far a silhouette must be above that of fewer clusters to count as larger.
const BETTER: f64 = 0.02;

/// Ranks divided into clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// By rank the number of its cluster. The largest cluster is 0; of equally large ones, the one with the smallest
    /// rank comes first.
    pub of_rank: Vec<u32>,
    /// Centres of the clusters.
    pub centres: Vec<Vec<f64>>,
    /// Mean silhouette, from -1 to 1; `None` for one cluster.
    pub silhouette: Option<f64>,
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    let all = a.iter().zip(b);
    all.map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
}

/// Index and value of the largest; of several, the first.
fn largest(values: impl Iterator<Item = f64>) -> Option<(usize, f64)> {
    let all = values.enumerate();
    all.reduce(|a, b| if b.1 > a.1 { b } else { a })
}

/// The mean of some vectors.
fn centre<'a>(vectors: impl Iterator<Item = &'a Vec<f64>>, dimensions: usize) -> Vec<f64> {
    let (mut sum, mut n) = (vec![0.0; dimensions], 0.0);
    for vector in vectors {
        sum.iter_mut().zip(vector).for_each(|(s, v)| *s += v);
        n += 1.0;
    }
    sum.iter_mut().for_each(|s| *s /= f64::max(n, 1.0));
    sum
}

/// The nearest centre, and the distances to it and to the next one.
fn nearest(vector: &[f64], centres: &[Vec<f64>]) -> (usize, f64, f64) {
    let mut best = (0, f64::INFINITY, f64::INFINITY);
    for (i, centre) in centres.iter().enumerate() {
        let far = distance(vector, centre);
        if far < best.1 {
            best = (i, far, best.1);
        } else if far < best.2 {
            best.2 = far;
        }
    }
    best
}

/// Divides vectors into `k` clusters, or fewer if fewer vectors are different.
fn divided(vectors: &[Vec<f64>], k: usize, mean: &[f64], interrupted: Interrupted<'_>) -> Clusters {
    let far_from = |centres: &[Vec<f64>]| largest(vectors.iter().map(|v| nearest(v, centres).1));
    let mut centres: Vec<Vec<f64>> = Vec::new();
    let first = largest(vectors.iter().map(|v| distance(v, mean)));
    centres.extend(first.and_then(|f| vectors.get(f.0)).cloned());
    while centres.len() < k {
        match far_from(&centres).filter(|f| f.1 > 0.0) {
            Some((i, _)) => centres.push(vectors[i].clone()),
            None => break,
        }
    }
    let mut of_rank: Vec<usize> = Vec::new();
    for _ in 0..ROUNDS {
        let now: Vec<usize> = vectors.iter().map(|v| nearest(v, &centres).0).collect();
        // A round processes every figure of every rank.
        if now == of_rank || interrupted() {
            break;
        }
        of_rank = now;
        for (i, slot) in centres.iter_mut().enumerate() {
            let own = of_rank.iter().zip(vectors).filter(|o| *o.0 == i);
            // A centre that lost all of its ranks stays where it is.
            if of_rank.contains(&i) {
                *slot = centre(own.map(|o| o.1), mean.len());
            }
        }
    }
    let mut sizes = vec![0usize; centres.len()];
    of_rank.iter().for_each(|c| sizes[*c] += 1);
    let silhouette = of_rank.iter().zip(vectors).map(|(c, v)| {
        let (_, own, next) = nearest(v, &centres);
        // A cluster of one rank does not show how near to each other its ranks are.
        if sizes[*c] < 2 || !next.is_finite() || next == 0.0 {
            0.0
        } else {
            (next - own) / next
        }
    });
    let silhouette = silhouette.sum::<f64>() / vectors.len().max(1) as f64;
    numbered(&of_rank, centres, silhouette)
}

/// Numbers clusters in the order of their sizes.
fn numbered(of_rank: &[usize], centres: Vec<Vec<f64>>, silhouette: f64) -> Clusters {
    let first = |c: usize| of_rank.iter().position(|o| *o == c);
    let size = |c: usize| of_rank.iter().filter(|o| **o == c).count();
    let mut order: Vec<usize> = (0..centres.len()).filter(|c| size(*c) > 0).collect();
    order.sort_by_key(|c| (std::cmp::Reverse(size(*c)), first(*c)));
    let number = |c: &usize| order.iter().position(|o| o == c).unwrap_or(0) as u32;
    Clusters {
        of_rank: of_rank.iter().map(number).collect(),
        centres: order
            .iter()
            .filter_map(|c| centres.get(*c))
            .cloned()
            .collect(),
        silhouette: Some(silhouette),
    }
}

/// Divides ranks into at most `most` clusters by their vectors, which have equal lengths. If no rank is farther from
/// the mean than `least` of the mean's own length, all ranks are alike. If it is interrupted, its result is useless.
pub fn clusters(
    vectors: &[Vec<f64>],
    most: usize,
    least: f64,
    interrupted: Interrupted<'_>,
) -> Clusters {
    let dimensions = vectors.first().map_or(0, Vec::len);
    let mean = centre(vectors.iter(), dimensions);
    let length = distance(&mean, &vec![0.0; dimensions]);
    let farthest = largest(vectors.iter().map(|v| distance(v, &mean))).map_or(0.0, |f| f.1);
    let mut best = Clusters {
        of_rank: vec![0; vectors.len()],
        centres: vec![mean.clone()],
        silhouette: None,
    };
    if farthest <= least * length {
        return best;
    }
    for k in 2..=most.min(vectors.len()) {
        let found = divided(vectors, k, &mean, interrupted);
        let needed = best.silhouette.map_or(REASONABLE, |s| s + BETTER);
        if found.silhouette.is_some_and(|s| s > needed) {
            best = found;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algorithm::NEVER;

    #[test]
    fn ranks_that_behave_alike_are_together() {
        // Corners, edges and the inside of a grid: some, more and most neighbours.
        let grid = |r: usize| match r {
            0 | 3 | 12 | 15 => vec![1.0, 0.2],
            5 | 6 | 9 | 10 => vec![1.0, 0.8],
            _ => vec![1.0, 0.5],
        };
        let scatter = |r: usize, v: Vec<f64>| -> Vec<f64> {
            v.into_iter()
                .map(|x| x + 0.01 * ((r * 7 % 5) as f64))
                .collect()
        };
        let vectors: Vec<Vec<f64>> = (0..16).map(|r| scatter(r, grid(r))).collect();
        let found = clusters(&vectors, 8, 0.05, NEVER);
        let expected = [2, 0, 0, 2, 0, 1, 1, 0, 0, 1, 1, 0, 2, 0, 0, 2];
        let sorted = [0, 1, 2].map(|c| found.of_rank.iter().filter(|o| **o == c).count());
        assert_eq!(sorted, [8, 4, 4]);
        let same = |a: usize, b: usize| found.of_rank[a] == found.of_rank[b];
        for a in 0..16 {
            for b in 0..16 {
                assert_eq!(
                    same(a, b),
                    expected[a] == expected[b],
                    "{:?}",
                    found.of_rank
                );
            }
        }
        assert!(found.silhouette.is_some_and(|s| s > 0.8));
    }

    #[test]
    fn one_that_differs_is_alone_and_ranks_that_do_not_are_one_cluster() {
        let late = |r: usize| vec![if r == 3 { 2.0 } else { 1.0 + 0.001 * r as f64 }];
        let found = clusters(&(0..8).map(late).collect::<Vec<_>>(), 8, 0.05, NEVER);
        assert_eq!(found.of_rank, [0, 0, 0, 1, 0, 0, 0, 0]);
        let alike = |r: usize| vec![1.0 + 0.01 * (r % 3) as f64];
        let found = clusters(&(0..8).map(alike).collect::<Vec<_>>(), 8, 0.05, NEVER);
        assert_eq!((found.of_rank, found.silhouette), (vec![0; 8], None));
        // Evenly spread ranks have no clusters in either case.
        let even = |r: usize| vec![1.0 + r as f64];
        let found = clusters(&(0..3).map(even).collect::<Vec<_>>(), 8, 0.05, NEVER);
        assert!(found.silhouette.is_none(), "{found:?}");
        assert!(clusters(&[], 8, 0.05, NEVER).of_rank.is_empty());
    }
}
