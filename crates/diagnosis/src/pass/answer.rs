//! The results of a diagnosis as tables.

use crate::measure::marks::Marks;
use crate::pass::causes::Causes;
use headwater_dataflow::flow::{Call, Gives, Kind, Pass, PassError, Stage, StageResult, Value};
use headwater_model::diagnosis::{Cause, Diagnosis, Place};
use headwater_model::report::{Item, Section, Unit};
use headwater_model::words;
use serde::Serialize;

/// The whole answer.
pub struct Answer(pub Diagnosis);

impl StageResult for Answer {
    const STAGE: Stage = Stage::new(&["diagnosis", "a diagnosis"]);

    fn words(&self) -> String {
        self.0.headline.first().cloned().unwrap_or_default()
    }
}

type Makes = fn(&Call<'_>) -> Result<Section, PassError>;

const TABLES: [(&str, &str, &str, Stage, Makes); 3] = [
    (
        "answer-table",
        "The answer of a diagnosis in sentences, with what must be known to read it and what is missing.",
        "diagnosis",
        Answer::STAGE,
        answer,
    ),
    (
        "cause-table",
        "Causes as a table.",
        "causes",
        Causes::STAGE,
        causes,
    ),
    (
        "cause-paths",
        "The ways from where the time shows to the causes, as a table.",
        "causes",
        Causes::STAGE,
        paths,
    ),
];

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let mut out: Vec<Pass> = TABLES
        .into_iter()
        .map(|(name, about, argument, stage, make)| {
            let pass = Pass::new(name, about, move |call| Ok(vec![make(call)?.into()]));
            pass.takes(argument, Kind::Finding(stage))
                .gives(Gives::Kind(Kind::Section))
        })
        .collect();
    let marks = Pass::new("mark-table", "Marked places as a table.", marks)
        .takes("marks", Kind::Finding(Marks::STAGE))
        .with("name", "marks", "name of the table for programs")
        .with("title", "Marked places", "heading for people")
        .with("note", "", "what must be known to read it");
    out.push(marks.gives(Gives::Kind(Kind::Section)));
    out
}

fn answer(call: &Call<'_>) -> Result<Section, PassError> {
    let Answer(diagnosis) = call.found(0)?;
    let columns = [("kind", "", Unit::None), ("sentence", "", Unit::None)];
    let mut section = Section::new("answer", "Answer", &columns);
    let kinds = [
        ("answer", &diagnosis.headline),
        ("note", &diagnosis.notes),
        ("missing", &diagnosis.missing),
    ];
    for (kind, sentences) in kinds {
        let row = |sentence: &String| vec![kind.into(), sentence.as_str().into()];
        section.rows.extend(sentences.iter().map(row));
    }
    Ok(section)
}

/// The number of a cause, from 1 on, as in a diagnosis.
fn number(i: usize) -> Item {
    Item::Number(i as f64 + 1.0)
}

/// The word of a value in JSON.
fn word(of: &impl Serialize) -> Item {
    let value = serde_json::to_value(of).ok();
    let word = value.as_ref().and_then(|v| v.as_str());
    word.map_or(Item::Missing, Item::from)
}

fn at(place: &Place) -> [Item; 2] {
    [place.name.as_str().into(), words::location(place).into()]
}

/// `31–40 %`, where the range of a gain is known.
fn range(c: &Cause) -> Option<String> {
    let (least, most) = c.gain_range_share()?;
    Some(format!("{:.0}–{:.0} %", least * 100.0, most * 100.0))
}

fn causes(call: &Call<'_>) -> Result<Section, PassError> {
    let columns = [
        ("cause", "no.", Unit::None),
        ("class", "class", Unit::None),
        ("name", "in", Unit::None),
        ("location", "where", Unit::None),
        ("ranks", "ranks", Unit::None),
        ("gain_seconds", "gain", Unit::Seconds),
        ("gain_share", "of the run", Unit::Share),
        ("gain_range", "likely", Unit::None),
        ("cost_seconds", "cost", Unit::Seconds),
        ("waiting_seconds", "waiting", Unit::Seconds),
        ("explanation", "what it is", Unit::None),
    ];
    let mut section = Section::new("causes", "Causes, the dearest first", &columns);
    section.note = Some(
        "Gain is what the run would be shorter by if it were mended, waiting what all ranks together wait because of it."
            .to_string(),
    );
    for (i, c) in call.found::<Causes>(0)?.0.iter().enumerate() {
        let [name, location] = at(&c.place);
        section.rows.push(vec![
            number(i),
            word(&c.class),
            name,
            location,
            c.ranks.to_string().into(),
            c.gain_seconds.into(),
            c.gain_share.into(),
            range(c).map_or(Item::Missing, |r| r.as_str().into()),
            c.cost_seconds.into(),
            c.waiting_seconds.into(),
            c.explanation.as_str().into(),
        ]);
    }
    Ok(section)
}

fn paths(call: &Call<'_>) -> Result<Section, PassError> {
    let columns = [
        ("cause", "no.", Unit::None),
        ("step", "step", Unit::None),
        ("ranks", "ranks", Unit::None),
        ("what", "what they do", Unit::None),
        ("name", "in", Unit::None),
        ("location", "where", Unit::None),
        ("seconds", "each", Unit::Seconds),
        ("clock", "clock", Unit::None),
    ];
    let title = "From where the time shows to the causes";
    let mut section = Section::new("paths", title, &columns);
    for (i, cause) in call.found::<Causes>(0)?.0.iter().enumerate() {
        for (n, step) in cause.path.iter().enumerate() {
            let [name, location] = at(&step.place);
            section.rows.push(vec![
                number(i),
                number(n),
                step.ranks.to_string().into(),
                step.what.as_str().into(),
                name,
                location,
                step.seconds.into(),
                word(&step.clock),
            ]);
        }
    }
    Ok(section)
}

fn marks(call: &Call<'_>) -> Result<Vec<Value>, PassError> {
    let columns = [
        ("name", "name", Unit::None),
        ("location", "where", Unit::None),
        ("ranks", "ranks", Unit::None),
        ("seconds", "time", Unit::Seconds),
        ("loss_share", "of the loss", Unit::Share),
        ("aggregation", "summed by", Unit::None),
        ("slope", "slope", Unit::Ratio),
        ("r_squared", "R²", Unit::Ratio),
        ("model", "model", Unit::None),
        ("ratio", "slowest to median", Unit::Ratio),
    ];
    let mut section = Section::new(call.text("name"), call.text("title"), &columns);
    let note = call.text("note");
    section.note = (!note.is_empty()).then(|| note.to_string());
    for (_, m) in &call.found::<Marks>(0)?.0 {
        let [name, location] = at(&m.place);
        // Marks of a single scale have no aggregation.
        let over_scales = !m.aggregates.is_empty();
        let aggregation = over_scales.then(|| word(&m.aggregation));
        section.rows.push(vec![
            name,
            location,
            m.ranks.to_string().into(),
            m.seconds.into(),
            Some(m.loss_share).filter(|_| over_scales).into(),
            aggregation.unwrap_or_default(),
            m.slope.into(),
            m.r_squared.into(),
            m.model.as_deref().map_or(Item::Missing, Item::from),
            m.ratio.into(),
        ]);
    }
    Ok(vec![section.into()])
}
