//! Set operations as passes (PerFlow, section 4.3.1): their results are part of their arguments.

use crate::flow::{Gives, Kind, Pass, PassError, Value};
use crate::set::{Expr, Set, SetError};

/// The passes of this file.
pub(super) fn passes() -> Vec<Pass> {
    let two = |name: &'static str, about: &'static str, f: Joins| {
        Pass::new(name, about, move |call| {
            let mut sets = (0..call.inputs().len()).map(|i| call.set(i));
            let first = match sets.next() {
                Some(set) => set?.clone(),
                None => return Ok(Vec::new()),
            };
            let all = sets.try_fold(first, |all, set| Ok::<_, PassError>(f(&all, set?)?));
            Ok(vec![all?.into()])
        })
        .takes("V1", Kind::SET)
        .takes("V2", Kind::SET)
        .and_more()
        .gives(Gives::AsArgument(0))
    };
    type Joins = fn(&Set, &Set) -> Result<Set, SetError>;
    vec![
        Pass::new(
            "filter",
            "Elements by an expression over their attributes, or by a name.",
            |call| {
                let mut set = call.set(0)?.clone();
                let (name, text) = (call.text("name"), call.text("where"));
                if !name.is_empty() {
                    set = set.filter(&Expr::like("name", name))?;
                }
                if !text.is_empty() {
                    set = set.filter(&Expr::parse(text)?)?;
                }
                Ok(vec![set.into()])
            },
        )
        .takes("V", Kind::SET)
        .with("name", "", "pattern that the name must fit, as MPI_*")
        .with(
            "where",
            "",
            "expression that must hold, as time > 0.1 and type == \"loop\"",
        )
        .gives(Gives::AsArgument(0)),
        Pass::new("sort", "Vertices by a metric, the largest first.", |call| {
            let (set, by) = (call.set(0)?, call.text("by"));
            let sorted = if call.flag("ascending") {
                set.sort_ascending(by)?
            } else {
                set.sort_by(by)?
            };
            Ok(vec![sorted.into()])
        })
        .takes("V", Kind::SET)
        .with("by", "time", "metric")
        .with("ascending", false, "whether the smallest comes first")
        .gives(Gives::AsArgument(0)),
        Pass::new("top", "The first elements.", |call| {
            Ok(vec![call.set(0)?.top(call.count("n")).into()])
        })
        .takes("V", Kind::SET)
        .with("n", 10.0, "how many")
        .whole_from(0.0)
        .gives(Gives::AsArgument(0)),
        Pass::new(
            "derive",
            "Vertices with a metric more, worked out from others.",
            |call| {
                let set = call.set(0)?.derive(call.text("name"), call.text("as"))?;
                Ok(vec![Value::Set(set)])
            },
        )
        .takes("V", Kind::SET)
        .with("name", "metric", "name of the metric")
        .with("as", "time", "expression, as wait / mpi")
        .gives(Gives::AsArgument(0)),
        two("union", "Elements of any of the sets.", Set::union),
        two("intersection", "Elements of all sets.", Set::intersection),
        two(
            "difference",
            "Elements of the first set that no other has.",
            Set::difference,
        ),
        Pass::new("complement", "What the view has besides.", |call| {
            Ok(vec![call.set(0)?.complement().into()])
        })
        .takes("V", Kind::SET)
        .gives(Gives::AsArgument(0)),
    ]
}
