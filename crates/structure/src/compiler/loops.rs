//! Which loops of the machine code are which of the compiler's: by their lines, and by the loops around them.
//!
//! A loop's header may be at another line in debug information than in the compiler: at the `DO`, or at the statement
//! behind it. So loops that have no partner at their own line are paired by their ranges of lines. Such a pair must be the
//! best one for both loops, and no other pair may be as good: a neighbour, a loop inside, or a part of a loop is no partner.

use rustc_hash::FxHashMap;

/// Places of a function that are paired by range, or looked through for parts.
const MOST_PLACES: usize = 500;

/// A loop as one front end sees it. Loops come behind those around them.
#[derive(Clone, Copy, Debug)]
pub struct Extent<'a> {
    /// Its vertex.
    pub vertex: u32,
    /// The vertex of the innermost loop around it.
    pub around: Option<u32>,
    /// Base name of its file.
    pub file: &'a str,
    /// Line of its header; 0 where unknown.
    pub first: u32,
    /// Last line of its body.
    pub last: u32,
}

/// Loops of one line in the same loop: copies, as inlining, unrolling and vectorising make them.
#[derive(Debug)]
pub struct Place<'a> {
    pub file: &'a str,
    pub first: u32,
    pub last: u32,
    /// The place around it.
    outer: Option<usize>,
    pub vertices: Vec<u32>,
}

/// The loops of a function, by place.
#[derive(Debug, Default)]
pub struct Places<'a> {
    pub all: Vec<Place<'a>>,
    of_vertex: FxHashMap<u32, usize>,
}

/// How a loop of the machine code was found in the compiler's structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// At the same line.
    Line,
    /// In the same range of lines.
    Range,
    /// It is a part of the compiler's loop, which vectorising or unrolling made.
    Part,
}

/// A place of the machine code, and the compiler's places that it may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partner {
    pub how: How,
    pub places: Vec<usize>,
}

impl<'a> Places<'a> {
    pub fn new(loops: impl IntoIterator<Item = Extent<'a>>) -> Self {
        let mut this = Self::default();
        let mut known: FxHashMap<(Option<usize>, &str, u32), usize> = FxHashMap::default();
        for one in loops {
            let outer = one.around.and_then(|v| this.of_vertex.get(&v).copied());
            let next = this.all.len();
            // Without lines there is no telling whether two are copies.
            let number = match one.first {
                0 => next,
                first => *known.entry((outer, one.file, first)).or_insert(next),
            };
            if number == next {
                this.all.push(Place {
                    file: one.file,
                    first: one.first,
                    last: one.last,
                    outer,
                    vertices: Vec::new(),
                });
            }
            let place = &mut this.all[number];
            place.last = place.last.max(one.last);
            place.vertices.push(one.vertex);
            this.of_vertex.insert(one.vertex, number);
        }
        this
    }

    /// The place of a loop.
    pub fn of(&self, vertex: u32) -> Option<usize> {
        self.of_vertex.get(&vertex).copied()
    }

    /// A place and those around it, innermost first.
    fn outward(&self, place: Option<usize>) -> impl Iterator<Item = usize> + '_ {
        std::iter::successors(place, |p| self.all.get(*p)?.outer)
    }
}

impl Place<'_> {
    /// How far the ends of two ranges are from each other, in lines; `None` if less than half of the lines are common.
    fn distance(&self, other: &Self) -> Option<u32> {
        if self.file != other.file || self.first == 0 || other.first == 0 {
            return None;
        }
        let lines = |first: u32, last: u32| last.saturating_add(1).saturating_sub(first);
        let common = lines(self.first.max(other.first), self.last.min(other.last));
        let all = lines(self.first.min(other.first), self.last.max(other.last));
        let apart = self.first.abs_diff(other.first);
        let apart = apart.saturating_add(self.last.abs_diff(other.last));
        (2 * u64::from(common) >= u64::from(all)).then_some(apart)
    }

    fn holds(&self, other: &Self) -> bool {
        let lines = self.first..=self.last;
        self.file == other.file
            && self.first > 0
            && lines.contains(&other.first)
            && lines.contains(&other.last)
    }
}

/// The loops of a function in both front ends, and which of them are the same.
#[derive(Debug, Default)]
pub struct Pairing<'a> {
    pub machine: Places<'a>,
    pub compiler: Places<'a>,
    /// By place of the machine code.
    pub partners: Vec<Option<Partner>>,
    /// Places of the compiler that are partners of some place.
    pub taken: Vec<bool>,
}

/// The shortest distance of a place, and how many pairs have it.
#[derive(Default)]
struct Best {
    apart: u32,
    pairs: usize,
}

impl Best {
    fn see(&mut self, apart: u32) {
        if self.pairs == 0 || apart < self.apart {
            (self.apart, self.pairs) = (apart, 0);
        }
        self.pairs += usize::from(apart == self.apart);
    }

    fn is(&self, apart: u32) -> bool {
        self.apart == apart && self.pairs == 1
    }
}

impl<'a> Pairing<'a> {
    /// Finds the partners of all places of the machine code.
    pub fn new(machine: Places<'a>, compiler: Places<'a>) -> Self {
        let mut this = Self {
            partners: vec![None; machine.all.len()],
            taken: vec![false; compiler.all.len()],
            machine,
            compiler,
        };
        this.by_line();
        this.by_range();
        this.parts();
        this
    }

    /// Whether what is in two loops is in the same one: the innermost ones that have partners are partners. So copies in
    /// several loops are kept from each other, and a loop that one side lacks does not matter.
    pub fn is_same_loop(&self, machine: Option<usize>, compiler: Option<usize>) -> bool {
        let mut ours = self.machine.outward(machine);
        let ours = ours.find_map(|m| self.partners.get(m)?.as_ref());
        let theirs = self.compiler.outward(compiler).find(|c| self.taken[*c]);
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => ours.places.contains(&theirs),
            (None, None) => true,
            _ => false,
        }
    }

    fn in_same_loop(&self, m: usize, c: usize) -> bool {
        self.is_same_loop(self.machine.all[m].outer, self.compiler.all[c].outer)
    }

    fn take(&mut self, machine: usize, how: How, places: Vec<usize>) {
        if how != How::Part {
            places.iter().for_each(|c| self.taken[*c] = true);
        }
        self.partners[machine] = Some(Partner { how, places });
    }

    fn by_line(&mut self) {
        let mut at: FxHashMap<(&str, u32), Vec<usize>> = FxHashMap::default();
        for (number, place) in self.compiler.all.iter().enumerate() {
            if place.first > 0 {
                at.entry((place.file, place.first))
                    .or_default()
                    .push(number);
            }
        }
        let place = |m: usize| &self.machine.all[m];
        let found: Vec<(usize, Vec<usize>)> = (0..self.machine.all.len())
            .filter_map(|m| Some((m, at.get(&(place(m).file, place(m).first))?.clone())))
            .collect();
        // Whatever is at a line of both is taken before nests are compared: the loops around tell copies from each other.
        for (_, all) in &found {
            all.iter().for_each(|c| self.taken[*c] = true);
        }
        for (m, mut all) in found {
            let same = |c: &usize| self.in_same_loop(m, *c);
            if all.len() > 1 && all.iter().any(same) {
                all = all.into_iter().filter(same).collect();
            }
            self.take(m, How::Line, all);
        }
    }

    fn by_range(&mut self) {
        let free = |m: &usize| self.partners[*m].is_none();
        let ours: Vec<usize> = (0..self.machine.all.len())
            .filter(free)
            .take(MOST_PLACES)
            .collect();
        let untaken = |c: &usize| !self.taken[*c];
        let theirs: Vec<usize> = (0..self.compiler.all.len())
            .filter(untaken)
            .take(MOST_PLACES)
            .collect();
        let mut pairs: Vec<(u32, usize, usize)> = Vec::new();
        for &m in &ours {
            let all = theirs.iter().filter_map(|&c| {
                let apart = self.machine.all[m].distance(&self.compiler.all[c])?;
                Some((apart, m, c))
            });
            pairs.extend(all);
        }
        pairs.sort_unstable();
        // A pair that is made may decide about others: they are in its loops, or wanted one of its places.
        loop {
            pairs.retain(|(_, m, c)| self.partners[*m].is_none() && !self.taken[*c]);
            let open = |p: &&(u32, usize, usize)| self.in_same_loop(p.1, p.2);
            let open: Vec<(u32, usize, usize)> = pairs.iter().filter(open).copied().collect();
            let mut best_of_ours: FxHashMap<usize, Best> = FxHashMap::default();
            let mut best_of_theirs: FxHashMap<usize, Best> = FxHashMap::default();
            for &(apart, m, c) in &open {
                best_of_ours.entry(m).or_default().see(apart);
                best_of_theirs.entry(c).or_default().see(apart);
            }
            let is_best = |(apart, m, c): &&(u32, usize, usize)| {
                let is = |best: Option<&Best>| best.is_some_and(|b| b.is(*apart));
                is(best_of_ours.get(m)) && is(best_of_theirs.get(c))
            };
            let made: Vec<_> = open.iter().filter(is_best).copied().collect();
            if made.is_empty() {
                return;
            }
            for (_, m, c) in made {
                // An outer pair of this round may have parted them.
                if self.in_same_loop(m, c) {
                    self.take(m, How::Range, vec![c]);
                }
            }
        }
    }

    fn parts(&mut self) {
        let alone = |m: &usize| self.partners[*m].is_none();
        let all: Vec<usize> = (0..self.machine.all.len()).filter(alone).collect();
        for m in all.into_iter().take(MOST_PLACES) {
            let place = &self.machine.all[m];
            let around = place.outer;
            let inside = |c: &usize| {
                let theirs = &self.compiler.all[*c];
                let same_loop = match (around, theirs.outer) {
                    (None, None) => true,
                    (Some(a), Some(b)) => {
                        let of = self.partners[a].as_ref();
                        of.is_some_and(|p| p.places.contains(&b))
                    }
                    _ => false,
                };
                same_loop && theirs.holds(place)
            };
            let all = 0..self.compiler.all.len();
            let found = all
                .filter(inside)
                .max_by_key(|c| self.compiler.all[*c].first);
            if let Some(c) = found {
                self.take(m, How::Part, vec![c]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Loops by first and last line, and the number of the one around them.
    fn places(loops: &[(u32, u32, Option<u32>)]) -> Places<'static> {
        let extent = |(number, &(first, last, around)): (u32, &(u32, u32, Option<u32>))| Extent {
            vertex: number,
            around,
            file: "a.f",
            first,
            last,
        };
        Places::new((0..).zip(loops).map(extent))
    }

    /// For each loop of the machine code, how its place was found, and the first line of the compiler's.
    fn found(
        machine: &[(u32, u32, Option<u32>)],
        compiler: &[(u32, u32, Option<u32>)],
    ) -> Vec<Option<(How, Vec<u32>)>> {
        let pairing = Pairing::new(places(machine), places(compiler));
        let lines = |p: &Partner| {
            let first = |c: &usize| pairing.compiler.all[*c].first;
            (p.how, p.places.iter().map(first).collect())
        };
        let all = pairing.partners.iter();
        all.map(|p| p.as_ref().map(lines)).collect()
    }

    fn line(first: u32) -> Option<(How, Vec<u32>)> {
        Some((How::Line, vec![first]))
    }

    fn range(first: u32) -> Option<(How, Vec<u32>)> {
        Some((How::Range, vec![first]))
    }

    #[test]
    fn a_header_at_the_next_line_is_the_same_loop() {
        assert_eq!(found(&[(11, 15, None)], &[(10, 15, None)]), [range(10)]);
        assert_eq!(found(&[(10, 15, None)], &[(11, 15, None)]), [range(11)]);
        assert_eq!(found(&[(10, 10, None)], &[(9, 10, None)]), [range(9)]);
    }

    #[test]
    fn adjacent_loops_are_not_one() {
        assert_eq!(found(&[(10, 12, None)], &[(13, 15, None)]), [None]);
        assert_eq!(found(&[(13, 13, None)], &[(12, 12, None)]), [None]);
        // Each has its own.
        let both = found(
            &[(11, 12, None), (14, 15, None)],
            &[(10, 12, None), (13, 15, None)],
        );
        assert_eq!(both, [range(10), range(13)]);
        // One of them was removed: the other is not taken for it.
        let one = found(&[(14, 15, None)], &[(10, 12, None), (13, 15, None)]);
        assert_eq!(one, [range(13)]);
    }

    #[test]
    fn a_loop_is_not_the_one_inside_it() {
        let nest = [(10, 30, None), (12, 16, Some(0))];
        assert_eq!(found(&[(13, 16, None)], &nest), [range(12)]);
        assert_eq!(found(&[(11, 30, None)], &nest), [range(10)]);
        assert_eq!(found(&nest, &[(13, 16, None)]), [None, range(13)]);
        let both = found(&[(11, 30, None), (13, 16, Some(0))], &nest);
        assert_eq!(both, [range(10), range(12)]);
        // A short loop at the end of a long one, which machine code lacks.
        assert_eq!(found(&[(28, 30, None)], &[(10, 30, None)])[0], part(10));
    }

    fn part(first: u32) -> Option<(How, Vec<u32>)> {
        Some((How::Part, vec![first]))
    }

    #[test]
    fn inner_loops_are_the_same_where_the_outer_ones_differ() {
        let machine = [(11, 30, None), (12, 20, Some(0)), (22, 25, Some(0))];
        let compiler = [(10, 30, None), (12, 20, Some(0)), (21, 25, Some(0))];
        assert_eq!(found(&machine, &compiler), [range(10), line(12), range(21)]);
        // Machine code has no outer loop: it ran once.
        let unrolled = [(12, 20, None), (22, 25, None)];
        assert_eq!(found(&unrolled, &compiler), [line(12), range(21)]);
    }

    #[test]
    fn remainders_and_versioned_copies_are_parts_or_one_place() {
        // The vector loop is at the body, the remainder at the header.
        let machine = [(10, 12, None), (11, 12, None)];
        assert_eq!(found(&machine, &[(10, 12, None)]), [line(10), part(10)]);
        // Both are at the body.
        let copies = [(11, 12, None), (11, 12, None)];
        assert_eq!(found(&copies, &[(10, 12, None)]), [range(10)]);
        // Two lines of one body: the nearer one is the loop, the other one a part of it.
        let parts = [(11, 13, None), (12, 13, None)];
        assert_eq!(found(&parts, &[(10, 13, None)]), [range(10), part(10)]);
        // Equally near: nobody knows which, and both are parts.
        let equal = [(11, 13, None), (10, 12, None)];
        assert_eq!(found(&equal, &[(9, 13, None)]), [part(9), part(9)]);
    }

    #[test]
    fn fused_loops_are_one_of_both() {
        // Machine code has one loop for two: it is that at its line, and the other one has no partner.
        let compiler = [(10, 12, None), (13, 15, None)];
        assert_eq!(found(&[(10, 15, None)], &compiler), [line(10)]);
        // At another line it is as near to both: no one is it.
        assert_eq!(found(&[(11, 14, None)], &compiler), [None]);
    }

    #[test]
    fn copies_are_kept_from_each_other_by_the_loops_around_them() {
        // A function with a loop at 50, inlined into two loops.
        let nest = [
            (10, 12, None),
            (20, 22, None),
            (50, 51, Some(0)),
            (50, 51, Some(1)),
        ];
        let pairing = Pairing::new(places(&nest), places(&nest));
        let places = pairing
            .partners
            .iter()
            .map(|p| p.as_ref().map(|p| p.places.clone()));
        let each: Vec<_> = (0..4).map(|n| Some(vec![n])).collect();
        assert_eq!(places.collect::<Vec<_>>(), each);
    }

    #[test]
    fn loops_without_lines_have_no_partner() {
        assert_eq!(found(&[(0, 0, None)], &[(0, 0, None)]), [None]);
        assert_eq!(found(&[(0, 5, None)], &[(1, 5, None)]), [None]);
    }
}
