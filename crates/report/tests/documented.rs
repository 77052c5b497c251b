//! The page about the JSON and the JSON itself name the same fields.

mod support;

use headwater_model::diagnosis::{
    Against, Aggregate, Aggregation, CauseClass, Clock, Diagnosis, LossKind, Marked, Reading,
    Repeated, SCHEMA, Scaling, ThreadEfficiencies, ThreadTimes,
};
use headwater_model::psg::VertexKind;
use headwater_report::json;
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../docs/DIAGNOSIS.md");

/// A diagnosis in which no list is empty, so that every type shows its fields.
fn sample() -> Diagnosis {
    let mut d = support::diagnosis(16, Some((20, 29)));
    d.causes.push(support::second(16));
    let marked = Marked {
        place: d.causes[0].place.clone(),
        ranks: d.causes[0].ranks.clone(),
        seconds: 0.5,
        loss_share: 0.4,
        slope: None,
        r_squared: Some(0.9),
        model: Some("c + a/p".into()),
        aggregation: Aggregation::Mean,
        aggregates: vec![Aggregate {
            aggregation: Aggregation::Mean,
            seconds: vec![(2, 1.0)],
            slope: None,
            r_squared: None,
            model: None,
            model_error: None,
        }],
        ratio: 2.0,
    };
    d.causes[1].by_thread = Some(ThreadTimes {
        rank: 3,
        threads: vec![0, 1],
        seconds: vec![0.5, 1.5],
        concerned: vec![1],
    });
    d.scales[0].efficiencies.threads = Some(ThreadEfficiencies::default());
    d.causes[0].repeated = Some(Repeated { found: 2, of: 3 });
    d.other_reading = Some(Reading {
        scaling: Scaling::Weak,
        headline: vec!["An answer.".into()],
        causes: vec![],
    });
    d.non_scalable.push(marked.clone());
    d.abnormal.push(marked);
    d
}

fn keys(value: &Value, into: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            for (key, inner) in fields {
                into.insert(key.clone());
                keys(inner, into);
            }
        }
        Value::Array(items) => items.iter().for_each(|v| keys(v, into)),
        _ => {}
    }
}

/// First cells of all tables of the page, as far as they are code.
fn documented() -> BTreeSet<String> {
    PAGE.lines()
        .filter_map(|l| l.strip_prefix("| `")?.split('`').next())
        .map(str::to_string)
        .collect()
}

fn word<T: serde::Serialize>(value: T) -> String {
    let text = serde_json::to_value(value).unwrap();
    text.as_str().unwrap().to_string()
}

fn classes() -> Vec<String> {
    use CauseClass::*;
    let all = [
        UnevenWork,
        SlowerWork,
        NonShrinkingWork,
        GrowingCommunication,
        LateSenderChain,
        CollectiveAlgorithm,
        ThreadImbalance,
        LockContention,
        SerialRegion,
        SmallRegions,
        AllocatorContention,
        SystemCallOrIo,
        Preempted,
        OneOff,
        Startup,
    ];
    all.into_iter().map(word).collect()
}

fn kinds() -> Vec<String> {
    use VertexKind::*;
    let all = [
        Function,
        Inlined,
        Loop,
        IrreducibleLoop,
        Branch,
        Call,
        MpiCall,
        ExternalCall,
        IndirectCall,
        RecursiveCall,
        ThreadCall,
        LockCall,
        Comp,
    ];
    all.into_iter().map(word).collect()
}

#[test]
fn every_field_is_documented_and_no_other() {
    let mut fields = BTreeSet::new();
    keys(
        &serde_json::from_str(&json(&sample())).unwrap(),
        &mut fields,
    );
    for field in &fields {
        assert!(
            PAGE.contains(&format!("`{field}`")),
            "{field} is not documented"
        );
    }
    let classes = classes();
    for name in documented() {
        assert!(
            fields.contains(&name) || classes.contains(&name),
            "{name} is documented, but it is no field and no class"
        );
    }
}

#[test]
fn every_word_that_a_field_may_hold_is_documented() {
    let scalings = [Scaling::Strong, Scaling::Weak, Scaling::Single].map(word);
    use Aggregation::*;
    let ways = [OneRank, Mean, Median, Variance, Clusters].map(word);
    let against = [Against::Even, Against::Ideal].map(word);
    use LossKind::*;
    let losses = [
        Causes,
        SmallUneven,
        SmallGrowth,
        Serialisation,
        Transfer,
        BeforeInit,
        Pace,
        Unknown,
    ];
    let losses = losses.map(word).into_iter().chain(against);
    let clocks = [Clock::Cpu, Clock::Wall, Clock::Virtual].map(word);
    let words = classes().into_iter().chain(kinds()).chain(clocks);
    let words = words.chain(losses);
    for name in words.chain(scalings).chain(ways) {
        assert!(
            PAGE.contains(&format!("`{name}`")),
            "{name} is not documented"
        );
    }
    assert!(PAGE.contains(&format!("version of this format, now {SCHEMA}")));
}
