//! The result of an analysis other than a diagnosis: tables under headings, for people and for programs.
//!
//! A figure that was not measured is missing, never zero. Names of columns are for programs and do not change; titles
//! are for people.

use serde::ser::{SerializeMap, SerializeStruct};
use serde::{Serialize, Serializer};

/// Version of the JSON of a report.
pub const SCHEMA: u32 = 1;

/// All that one analysis says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// Version of this format.
    pub schema: u32,
    /// The analysis, as `headwater analyse` names it.
    pub paradigm: String,
    /// The measured program.
    pub program: String,
    /// The runs, in the order in which they were given.
    pub runs: Vec<Analysed>,
    /// What must be known before the figures, a sentence each.
    pub notes: Vec<String>,
    /// The tables.
    pub sections: Vec<Section>,
}

/// A run that was analysed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysed {
    /// Its name.
    pub name: String,
    /// Its ranks.
    pub ranks: u32,
    /// From `MPI_Init` to the end of `MPI_Finalize` on the slowest rank, seconds.
    pub wall_seconds: f64,
}

/// What the figures of a column are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Words, or figures without a unit.
    #[default]
    None,
    /// Seconds.
    Seconds,
    /// Bytes.
    Bytes,
    /// How many.
    Count,
    /// A part of a whole, 0 to 1.
    Share,
    /// One over another.
    Ratio,
}

/// A column of a section.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Heading {
    /// Name of the field in each row.
    pub name: String,
    /// What people read above it.
    pub title: String,
    /// What its figures are of.
    pub unit: Unit,
}

/// A value in a row.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Item {
    /// Not measured, or not there: `null`.
    #[default]
    Missing,
    /// A figure.
    Number(f64),
    /// Words.
    Text(String),
}

impl From<f64> for Item {
    fn from(value: f64) -> Self {
        if value.is_finite() {
            Self::Number(value)
        } else {
            Self::Missing
        }
    }
}

impl From<Option<f64>> for Item {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::Missing, Self::from)
    }
}

impl From<&str> for Item {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

impl From<String> for Item {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A table with its heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its name for programs.
    pub name: String,
    /// What people read above it.
    pub title: String,
    /// What must be known to read it.
    pub note: Option<String>,
    /// Columns.
    pub columns: Vec<Heading>,
    /// A value for each column in each row.
    pub rows: Vec<Vec<Item>>,
}

impl Section {
    /// A section without rows; each column is its name, title and unit.
    pub fn new(name: &str, title: &str, columns: &[(&str, &str, Unit)]) -> Self {
        let heading = |(name, title, unit): &(&str, &str, Unit)| Heading {
            name: (*name).to_string(),
            title: (*title).to_string(),
            unit: *unit,
        };
        Self {
            name: name.to_string(),
            title: title.to_string(),
            note: None,
            columns: columns.iter().map(heading).collect(),
            rows: Vec::new(),
        }
    }

    /// The values of a column, by its name.
    pub fn column(&self, name: &str) -> Option<Vec<&Item>> {
        let at = self.columns.iter().position(|c| c.name == name)?;
        Some(self.rows.iter().filter_map(|r| r.get(at)).collect())
    }
}

/// A row as an object, in the order of the columns.
struct Row<'a>(&'a [Heading], &'a [Item]);

/// The largest whole number that every reader of JSON takes exactly: 2⁵³.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(self.0.len()))?;
        for (heading, item) in self.0.iter().zip(self.1) {
            let whole = matches!(heading.unit, Unit::None | Unit::Bytes | Unit::Count);
            match item {
                Item::Missing => map.serialize_entry(&heading.name, &())?,
                Item::Text(text) => map.serialize_entry(&heading.name, text)?,
                Item::Number(x) if whole && x.fract() == 0.0 && x.abs() <= EXACT => {
                    map.serialize_entry(&heading.name, &(*x as i64))?;
                }
                Item::Number(x) => map.serialize_entry(&heading.name, x)?,
            }
        }
        map.end()
    }
}

impl Serialize for Section {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let rows: Vec<Row<'_>> = self.rows.iter().map(|r| Row(&self.columns, r)).collect();
        let mut out = s.serialize_struct("Section", 5)?;
        out.serialize_field("name", &self.name)?;
        out.serialize_field("title", &self.title)?;
        out.serialize_field("note", &self.note)?;
        out.serialize_field("columns", &self.columns)?;
        out.serialize_field("rows", &rows)?;
        out.end()
    }
}

#[cfg(feature = "schema")]
mod schema {
    use super::{Heading, Section};
    use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

    impl JsonSchema for Section {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Section".into()
        }

        fn json_schema(generator: &mut SchemaGenerator) -> Schema {
            let columns = generator.subschema_for::<Vec<Heading>>();
            json_schema!({
                "type": "object",
                "description": "A table with its heading.",
                "properties": {
                    "name": {"type": "string", "description": "Its name for programs."},
                    "title": {"type": "string", "description": "What people read above it."},
                    "note": {"type": ["string", "null"], "description": "What must be known to read it."},
                    "columns": columns,
                    "rows": {
                        "type": "array",
                        "description": "An object for each row, with a field for each column: a figure, words, or null where not measured.",
                        "items": {"type": "object"}
                    }
                },
                "required": ["name", "title", "note", "columns", "rows"]
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_column() {
        let columns = [
            ("rank", "Rank", Unit::None),
            ("time", "Time", Unit::Seconds),
        ];
        let mut section = Section::new("ranks", "By rank", &columns);
        section
            .rows
            .push(vec![Item::from(3.0), Item::from(f64::NAN)]);
        assert_eq!(section.column("rank"), Some(vec![&Item::Number(3.0)]));
        assert_eq!(section.column("time"), Some(vec![&Item::Missing]));
        assert_eq!(section.column("name"), None);
    }
}
