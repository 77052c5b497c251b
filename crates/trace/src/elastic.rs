//! Values of several ranks: each row of values with the ranks that it belongs to (ScalaTrace II's elastic data
//! elements, section 3.1).

use crate::ranks::Ranks;
use crate::vector::Vector;
use rustc_hash::FxHashMap;

/// How a value is written, where it is a rank of a communicator. Negative values, which are no ranks, stay as they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Form {
    /// As the call has it.
    #[default]
    Absolute,
    /// What is to be added to the own rank, modulo the number of members.
    Relative,
    /// What is to be combined with the own rank by exclusive or: the partners of a butterfly.
    Butterfly,
}

impl Form {
    /// All forms, in the order in which they are tried.
    pub const ALL: [Self; 3] = [Self::Relative, Self::Butterfly, Self::Absolute];

    /// The value of this form of `rank`, for member `place.me` of `place.size`.
    pub fn of(self, rank: i64, place: Place) -> i64 {
        match self {
            _ if rank < 0 => rank,
            Self::Absolute => rank,
            Self::Relative => (rank - place.me).rem_euclid(place.size.max(1)),
            Self::Butterfly => rank ^ place.me,
        }
    }

    /// The rank that has this value.
    pub fn rank(self, value: i64, place: Place) -> i64 {
        match self {
            _ if value < 0 => value,
            Self::Absolute => value,
            Self::Relative => value.wrapping_add(place.me).rem_euclid(place.size.max(1)),
            Self::Butterfly => value ^ place.me,
        }
    }
}

/// A rank's place in a communicator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Its rank there.
    pub me: i64,
    /// Number of members.
    pub size: i64,
}

/// The same values of some ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// In the order in which they happened.
    pub values: Vector,
    /// How they are written.
    pub form: Form,
    /// Whose they are.
    pub ranks: Ranks,
}

/// Values of all ranks that have some; no rank is in two parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Elastic {
    /// Sorted by the first rank.
    pub parts: Vec<Part>,
}

impl Elastic {
    /// The values of some ranks.
    pub fn of(values: Vector, ranks: Ranks) -> Self {
        Self {
            parts: vec![Part {
                values,
                form: Form::Absolute,
                ranks,
            }],
        }
    }

    /// The part of a rank.
    pub fn part(&self, rank: u32) -> Option<&Part> {
        self.parts.iter().find(|part| part.ranks.contains(rank))
    }

    /// Adds the values of other ranks. `place` says where a rank is in the communicator of the values, if they are
    /// ranks of one.
    pub fn unite(&mut self, other: Self, place: &dyn Fn(u32) -> Option<Place>) {
        let few = self.parts.len() * other.parts.len() <= FEW;
        let mut keys = Keys::default();
        if !few {
            keys.add(0, &self.parts, place);
        }
        for part in other.parts {
            let like = match few {
                true => find(0..self.parts.len(), &self.parts, &part, place),
                false => find(keys.of(&part, place), &self.parts, &part, place),
            };
            let mine =
                like.and_then(|(at, form, values)| Some((self.parts.get_mut(at)?, form, values)));
            match mine {
                Some((mine, form, values)) => {
                    if let Some(values) = values {
                        (mine.form, mine.values) = (form, values);
                    }
                    mine.ranks.unite(&part.ranks);
                }
                None => {
                    if !few {
                        keys.add(self.parts.len(), std::slice::from_ref(&part), place);
                    }
                    self.parts.push(part);
                }
            }
        }
        self.parts
            .sort_by(|a, b| a.ranks.blocks().cmp(b.ranks.blocks()));
    }
}

/// So many pairs of parts are compared one by one.
const FEW: usize = 64;

/// Parts by what those with equal values have in common in one of the forms: where all ranks have values of their own,
/// each part is compared with few others.
#[derive(Default)]
struct Keys(FxHashMap<Key, Vec<usize>>);

/// A form, the number of values, the first one, the last one and their sum. Equal values have it in common, in whatever
/// terms.
type Key = (Form, u64, Option<i64>, Option<i64>, i64);

impl Keys {
    /// Adds parts, the first of which is at position `from`.
    fn add(&mut self, from: usize, parts: &[Part], place: &dyn Fn(u32) -> Option<Place>) {
        for (at, part) in (from..).zip(parts) {
            for key in keys(part, place) {
                self.0.entry(key).or_default().push(at);
            }
        }
    }

    /// Positions of parts that may be like this one, sorted.
    fn of(&self, part: &Part, place: &dyn Fn(u32) -> Option<Place>) -> Vec<usize> {
        let found = keys(part, place).filter_map(|key| self.0.get(&key));
        let mut found: Vec<usize> = found.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The keys of a part in all forms in which it can be written.
fn keys(part: &Part, place: &dyn Fn(u32) -> Option<Place>) -> impl Iterator<Item = Key> {
    Form::ALL.into_iter().filter_map(move |form| {
        let written = written(part, form, place)?;
        let values = written.get(part);
        let first = values.iter().next();
        Some((form, values.len(), first, values.last(), values.sum()))
    })
}

/// The first part that is like another one, with the form that both have.
fn find(
    positions: impl IntoIterator<Item = usize>,
    parts: &[Part],
    part: &Part,
    place: &dyn Fn(u32) -> Option<Place>,
) -> Option<(usize, Form, Option<Vector>)> {
    positions.into_iter().find_map(|at| {
        let (form, values) = common(parts.get(at)?, part, place)?;
        Some((at, form, values))
    })
}

/// The form in which two parts have equal values, and the values if that is not the form of the first one.
fn common(
    a: &Part,
    b: &Part,
    place: &dyn Fn(u32) -> Option<Place>,
) -> Option<(Form, Option<Vector>)> {
    if a.values.len() != b.values.len() {
        return None;
    }
    if a.form == b.form && a.form != Form::Absolute {
        return (a.values == b.values).then_some((a.form, None));
    }
    for form in Form::ALL {
        if let (Some(mine), Some(others)) = (written(a, form, place), written(b, form, place))
            && mine.get(a) == others.get(b)
        {
            return Some((form, mine.changed()));
        }
    }
    None
}

/// Vectors with more values in strides are left as they are: each of these would have to be changed.
const LONGEST_STRIDES: u64 = 1 << 20;

enum Written {
    Same,
    Changed(Vector),
}

impl Written {
    fn get<'a>(&'a self, part: &'a Part) -> &'a Vector {
        match self {
            Self::Same => &part.values,
            Self::Changed(values) => values,
        }
    }

    fn changed(self) -> Option<Vector> {
        match self {
            Self::Same => None,
            Self::Changed(values) => Some(values),
        }
    }
}

/// The part's values in a form; `None` if they cannot be written so.
fn written(part: &Part, form: Form, place: &dyn Fn(u32) -> Option<Place>) -> Option<Written> {
    if part.form == form {
        return Some(Written::Same);
    }
    if part.form != Form::Absolute {
        return None;
    }
    let place = place(part.ranks.only()?)?;
    // A damaged file may have longer strides than there are ranks.
    if part.values.mapped_one_by_one() > LONGEST_STRIDES {
        return None;
    }
    // Butterflies have a power of two of members. What is no rank cannot be written relative to one.
    let mut can = form != Form::Butterfly || place.size.count_ones() == 1;
    let values = part.values.map(|rank| {
        can &= rank < place.size;
        form.of(rank, place)
    });
    can.then_some(Written::Changed(values))
}
