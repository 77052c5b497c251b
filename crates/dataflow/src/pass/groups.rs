//! Groups and classes of vertices (PerFlow, section 4.3.1): by a common value, or by conditions.
//!
//! A pass has a fixed number of outputs, however many groups there are. So vertices are numbered or named by their
//! group; `filter` selects one group, and a table lists all.

use crate::flow::{Call, Gives, Kind, Parameter, Pass, PassError, Value};
use crate::set::{Expr, Set};
use headwater_graph::view::Column;
use headwater_model::report::{Item, Section, Unit};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    vec![
        Pass::new(
            "group",
            "Vertices with group: those with the same value of an attribute have the same number and follow each other; and a table of the groups.",
            |call| {
                let (set, table) = group(call.vertices(0)?, call.text("by"), call.text("metric"))?;
                Ok(vec![set.into(), table.into()])
            },
        )
        .takes("V", Kind::SET)
        .with("by", "type", "attribute")
        .with("metric", "time", "metric that is summed up in the table")
        .gives(Gives::AsArgument(0))
        .gives(Gives::Kind(Kind::Section)),
        Pass::new(
            "classify",
            "Vertices with the name of the first class whose condition they fit.",
            classes,
        )
        .takes("V", Kind::SET)
        .with(
            "classes",
            Parameter::List(vec![
                "communication: type == 'mpi-call'".to_string(),
                "computation: time > 0".to_string(),
            ]),
            "names with conditions, as loops: type == 'loop'",
        )
        .with("name", "kind_of", "name of the attribute that has the class")
        .gives(Gives::AsArgument(0)),
    ]
}

/// A set's vertices with `group`, a number for each value of an attribute in the order in which values first occur, the
/// vertices of one group together; and a table with each group's value, number of vertices, and sum of a metric.
/// Vertices without a value are the last group.
///
/// # Errors
/// If vertices have no such attribute or metric.
pub fn group(set: &Set, by: &str, metric: &str) -> Result<(Set, Section), PassError> {
    let groups = set.group(by)?;
    let columns = [
        ("group", "group", Unit::None),
        ("value", "value", Unit::None),
        ("vertices", "vertices", Unit::Count),
    ];
    let mut section = Section::new("groups", &format!("Vertices by {by}"), &columns);
    let of_metric = super::table::heading(&set.view().vertices, metric);
    section.columns.push(of_metric);
    let (mut vertices, mut numbers) = (Vec::new(), Vec::new());
    for (i, (value, group)) in groups.into_iter().enumerate() {
        let figures: Vec<f64> = group.numbers(metric)?.into_iter().flatten().collect();
        let sum = (!figures.is_empty()).then(|| figures.iter().sum::<f64>());
        let size = group.vertices().len();
        section.rows.push(vec![
            Item::Number(i as f64),
            value.map_or(Item::Missing, Item::from),
            Item::Number(size as f64),
            sum.into(),
        ]);
        vertices.extend(group.vertices());
        numbers.extend(std::iter::repeat_n(Some(i as f64), size));
    }
    // Without vertices there is no group that would report a missing metric.
    set.numbers(metric)?;
    let set = Set::of(set.view(), vertices, set.edges().to_vec());
    Ok((set.with_metric("group", &numbers)?, section))
}

fn classes(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let (name, mut classes) = (call.text("name"), Vec::new());
    for class in call.list("classes") {
        let Some((name, condition)) = class.split_once(':') else {
            let what = format!("\"{class}\" is no class such as loops: type == 'loop'");
            return Err(PassError::Argument("classes".to_string(), what));
        };
        classes.push((name.trim(), condition.trim()));
    }
    let set = call.vertices(0)?;
    if let Some(Column::Number(_)) = set.view().vertices.get(name) {
        let what = format!("{name} is a metric of these vertices; choose another name");
        return Err(PassError::Argument("name".to_string(), what));
    }
    Ok(vec![classify(set, &classes, name)?.into()])
}

/// A set's vertices with the name of the first class whose condition they fulfil, as `name`; it is missing for those
/// that fulfil none. Classes are names with conditions.
///
/// # Errors
/// If a condition cannot be read or evaluated.
pub fn classify(set: &Set, classes: &[(&str, &str)], name: &str) -> Result<Set, PassError> {
    let mut words: Vec<Option<String>> = vec![None; set.vertices().len()];
    for (class, condition) in classes {
        let holds = Expr::parse(condition)?.holds(&set.view().vertices, set.vertices())?;
        for (word, holds) in words.iter_mut().zip(holds) {
            if holds && word.is_none() {
                *word = Some((*class).to_string());
            }
        }
    }
    Ok(set.with_words(name, &words)?)
}
