//! Columns and tables: attributes of vertices and edges, stored as Arrow arrays (PerFlow, section 3.1).
//!
//! There are two kinds of columns. Figures are 64-bit floats, which represent every count below 2⁵³ exactly; a figure
//! that was not measured is null, never zero. Words are indices into a dictionary, so that a name that ten million
//! vertices share is stored and compared once. Copying a table shares its columns and does not copy them.

use super::known::unit;
use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{Array, ArrayRef, DictionaryArray, Float64Array, Int32Array, StringArray};
use arrow_buffer::ScalarBuffer;
use rustc_hash::FxHashMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// One attribute of all rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Figures; null where not measured.
    Number(Float64Array),
    /// Words; null where there is none.
    Text(Words),
}

/// A column of words: for each row an index into the different words.
#[derive(Clone, Debug, PartialEq)]
pub struct Words {
    codes: Int32Array,
    words: StringArray,
}

/// One value of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Not measured, or not there.
    Missing,
    /// A figure.
    Number(f64),
    /// A word.
    Text(&'a str),
}

impl Words {
    /// The word of a row.
    pub fn get(&self, row: usize) -> Option<&str> {
        let code = self.code(row)?;
        self.words.is_valid(code).then(|| self.words.value(code))
    }

    /// The index of a row's word in [`Words::dictionary`].
    pub fn code(&self, row: usize) -> Option<usize> {
        let there = row < self.codes.len() && self.codes.is_valid(row);
        let code = there.then(|| self.codes.value(row))?;
        usize::try_from(code).ok().filter(|c| *c < self.words.len())
    }

    /// The different words.
    pub fn dictionary(&self) -> impl Iterator<Item = &str> {
        (0..self.words.len()).map(|i| self.words.value(i))
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The same words with other codes for the rows; a code without a word is a missing word.
    pub fn recoded(&self, codes: impl IntoIterator<Item = Option<i32>>) -> Self {
        let most = self.words.len();
        let valid = |c: &i32| usize::try_from(*c).is_ok_and(|c| c < most);
        let codes = codes.into_iter().map(|c| c.filter(valid));
        Self {
            codes: codes.collect(),
            words: self.words.clone(),
        }
    }
}

impl Column {
    /// A column of figures; a value that is not finite is missing.
    pub fn numbers(values: impl IntoIterator<Item = Option<f64>>) -> Self {
        let values = values.into_iter().map(|v| v.filter(|v| v.is_finite()));
        Self::Number(values.collect())
    }

    /// A column of figures in which none is missing, without a copy.
    pub fn known(values: Vec<f64>) -> Self {
        Self::Number(Float64Array::new(ScalarBuffer::from(values), None))
    }

    /// A column of words.
    pub fn texts<S: AsRef<str>>(values: impl IntoIterator<Item = Option<S>>) -> Self {
        let mut builder = StringDictionaryBuilder::<Int32Type>::new();
        for value in values {
            builder.append_option(value);
        }
        Self::from_dictionary(&builder.finish())
    }

    /// A column of words by their index in `words`; an index that is not in `words` is a missing word.
    pub fn coded(words: &[impl AsRef<str>], codes: impl IntoIterator<Item = Option<i32>>) -> Self {
        let words = Words {
            codes: Int32Array::from(Vec::<i32>::new()),
            words: words.iter().map(|w| Some(w.as_ref())).collect(),
        };
        Self::Text(words.recoded(codes))
    }

    fn from_dictionary(array: &DictionaryArray<Int32Type>) -> Self {
        Self::Text(Words {
            codes: array.keys().clone(),
            words: array.values().as_string::<i32>().clone(),
        })
    }

    /// A column from an Arrow array of figures, without a copy where all of them are finite; a figure that is not
    /// finite is missing.
    pub fn from_floats(array: &Float64Array) -> Self {
        let finite = array.values().iter().all(|v| v.is_finite());
        if finite {
            Self::Number(array.clone())
        } else {
            Self::numbers(array.iter())
        }
    }

    /// A column from an Arrow array of words by their index, without a copy; `None` if the words are not `Utf8`.
    pub fn from_words(array: &DictionaryArray<Int32Type>) -> Option<Self> {
        array.values().as_string_opt::<i32>()?;
        Some(Self::from_dictionary(array))
    }

    /// The column as an Arrow array, without a copy: `Float64`, or `Dictionary(Int32, Utf8)`.
    pub fn array(&self) -> ArrayRef {
        match self {
            Self::Number(values) => Arc::new(values.clone()),
            // Codes are checked against the words whenever a column is made.
            Self::Text(w) => Arc::new(DictionaryArray::<Int32Type>::new(
                w.codes.clone(),
                Arc::new(w.words.clone()),
            )),
        }
    }

    /// Whether both are the same array in memory, and therefore equal; columns in different arrays may be equal too.
    pub fn shares(&self, other: &Self) -> bool {
        let one = |a: &dyn Array, b: &dyn Array| a.to_data().ptr_eq(&b.to_data());
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => one(a, b),
            (Self::Text(a), Self::Text(b)) => one(&a.codes, &b.codes) && one(&a.words, &b.words),
            _ => false,
        }
    }

    /// Feeds the contents to a hasher: equal columns have equal hashes.
    pub fn hash_into(&self, hasher: &mut impl Hasher) {
        match self {
            Self::Number(values) => {
                for row in 0..values.len() {
                    // No column has a value that is not finite, so these bits mean a missing one.
                    let bits = self.number(row).map_or(u64::MAX, f64::to_bits);
                    hasher.write_u64(bits);
                }
            }
            Self::Text(words) => {
                for word in words.dictionary() {
                    word.hash(hasher);
                }
                for row in 0..words.len() {
                    hasher.write_usize(words.code(row).unwrap_or(usize::MAX));
                }
            }
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Number(v) => v.len(),
            Self::Text(w) => w.len(),
        }
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The figure of a row.
    pub fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Number(v) if row < v.len() && v.is_valid(row) => Some(v.value(row)),
            _ => None,
        }
    }

    /// The word of a row.
    pub fn text(&self, row: usize) -> Option<&str> {
        match self {
            Self::Text(w) => w.get(row),
            Self::Number(_) => None,
        }
    }

    /// The value of a row.
    pub fn cell(&self, row: usize) -> Cell<'_> {
        match self {
            Self::Number(_) => self.number(row).map_or(Cell::Missing, Cell::Number),
            Self::Text(_) => self.text(row).map_or(Cell::Missing, Cell::Text),
        }
    }

    /// The rows at `indices`, in that order; a row that is not there is missing.
    pub fn take(&self, indices: &[u32]) -> Self {
        match self {
            Self::Number(v) if v.null_count() == 0 => {
                let all = v.values();
                let there = indices.iter().all(|i| (*i as usize) < all.len());
                if there {
                    Self::known(indices.iter().map(|i| all[*i as usize]).collect())
                } else {
                    Self::numbers(indices.iter().map(|i| self.number(*i as usize)))
                }
            }
            Self::Number(_) => Self::numbers(indices.iter().map(|i| self.number(*i as usize))),
            Self::Text(w) => Self::Text(
                w.recoded(
                    indices
                        .iter()
                        .map(|i| w.code(*i as usize).map(|c| c as i32)),
                ),
            ),
        }
    }
}

/// Columns of one length, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    rows: usize,
    columns: Vec<(Arc<str>, Column)>,
    index: FxHashMap<Arc<str>, usize>,
    /// Units of columns whose names do not say them.
    units: FxHashMap<Arc<str>, Option<&'static str>>,
}

impl Table {
    /// A table of `rows` rows without columns.
    pub fn new(rows: usize) -> Self {
        Self {
            rows,
            ..Self::default()
        }
    }

    /// Rows.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// A column by its name.
    pub fn get(&self, name: &str) -> Option<&Column> {
        let at = self.index.get(name)?;
        self.columns.get(*at).map(|c| &c.1)
    }

    /// A value; missing if there is no such column or row.
    pub fn cell(&self, name: &str, row: usize) -> Cell<'_> {
        self.get(name).map_or(Cell::Missing, |c| c.cell(row))
    }

    /// Names and columns, in order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &Column)> {
        self.columns.iter().map(|(n, c)| (&**n, c))
    }

    /// Unit of a column, as it was set or as its name implies; see [`unit`].
    pub fn unit(&self, name: &str) -> Option<&'static str> {
        let own = self.units.get(name).copied();
        own.unwrap_or_else(|| unit(name))
    }

    /// Names of the columns, in order.
    pub fn names(&self) -> Vec<&str> {
        self.columns.iter().map(|c| &*c.0).collect()
    }

    /// Adds a column, or replaces the one of that name. Its unit is the one that the name implies.
    ///
    /// # Panics
    /// If the column does not have as many rows as the table: that is an error of the caller, never of its input.
    pub fn set(&mut self, name: &str, column: Column) {
        assert_eq!(column.len(), self.rows, "rows of column {name}");
        self.units.remove(name);
        match self.index.get(name) {
            Some(at) => self.columns[*at].1 = column,
            None => {
                let name: Arc<str> = name.into();
                self.index.insert(name.clone(), self.columns.len());
                self.columns.push((name, column));
            }
        }
    }

    /// As [`Table::set`], for a column that was computed from one with this unit, whatever its name is.
    ///
    /// # Panics
    /// As [`Table::set`].
    pub fn set_in(&mut self, name: &str, column: Column, unit: Option<&'static str>) {
        self.set(name, column);
        if self.unit(name) != unit {
            self.units.insert(name.into(), unit);
        }
    }

    /// The table with one more column.
    pub fn with(mut self, name: &str, column: Column) -> Self {
        self.set(name, column);
        self
    }

    /// The rows at `indices`, in that order.
    pub fn take(&self, indices: &[u32]) -> Self {
        let mut out = Self::new(indices.len());
        for (name, column) in self.columns() {
            out.set(name, column.take(indices));
        }
        out.units = self.units.clone();
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_kept_once_and_what_is_missing_stays_so() {
        let column = Column::texts([Some("a"), None, Some("b"), Some("a")]);
        let Column::Text(words) = &column else {
            panic!("words");
        };
        assert_eq!(words.dictionary().collect::<Vec<_>>(), ["a", "b"]);
        let taken = column.take(&[3, 1, 9]);
        assert_eq!(taken.cell(0), Cell::Text("a"));
        assert_eq!(
            (taken.cell(1), taken.cell(2)),
            (Cell::Missing, Cell::Missing)
        );
        assert_eq!(taken.array().len(), 3);
        assert_eq!(Column::coded(&["a"], [Some(0), Some(7)]).text(1), None);
    }

    #[test]
    fn figures_that_were_not_measured_are_not_zero() {
        let column = Column::numbers([Some(1.0), None, Some(f64::NAN)]);
        assert_eq!(column.number(1), None);
        assert_eq!(column.number(2), None);
        assert_eq!(column.take(&[1, 0]).number(1), Some(1.0));
        let table = Table::new(3).with("t", column);
        assert_eq!(table.cell("t", 0), Cell::Number(1.0));
        assert_eq!(table.cell("u", 0), Cell::Missing);
    }

    #[test]
    fn a_column_keeps_its_unit_until_another_takes_its_place() {
        let made = || Column::known(vec![1.0]);
        let mut table = Table::new(1).with("time", made());
        table.set_in("at_2", made(), Some("s"));
        table.set_in("excess", made(), None);
        let units = |table: &Table| ["time", "at_2", "excess"].map(|name| table.unit(name));
        assert_eq!(units(&table), [Some("s"), Some("s"), None]);
        assert_eq!(units(&table.take(&[0])), units(&table));
        table.set("at_2", made());
        table.set("excess", made());
        assert_eq!(units(&table), [Some("s"), None, Some("s")]);
    }
}
