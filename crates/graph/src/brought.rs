//! Makes the structures of modules that are not files on any machine: from the symbols that an imported trace contains,
//! and of regions that the program named. A region is a function, because it is a frame of call paths.

use headwater_model::psg::ModuleStructure;
use headwater_model::run::{Module, Run, Symbol};

/// The modules of `runs` for which a run has symbols, and their regions, with their structures, in the order of path and
/// build id. Symbols of one module from several runs are put together: equal offsets are the same place in all of them.
pub fn brought(runs: &[Run]) -> Vec<(Module, ModuleStructure)> {
    let regions: Vec<(&Module, Symbol)> = (runs.iter())
        .flat_map(|run| run.modules.iter())
        .filter_map(|module| Some((module, symbol(module.region()?))))
        .collect();
    let mut all: Vec<(&Module, &Symbol)> = regions.iter().map(|(m, s)| (*m, s)).collect();
    for run in runs {
        let module = |s: &Symbol| run.modules.get(s.module as usize);
        all.extend(run.symbols.iter().filter_map(|s| Some((module(s)?, s))));
    }
    all.sort_by_key(|(m, s)| (&m.path, &m.build_id, s.offset));
    let structure = |of: &[(&Module, &Symbol)]| {
        let module = of.first()?.0.clone();
        let structure = ModuleStructure {
            path: module.path.clone(),
            build_id: module.build_id.clone(),
            ..ModuleStructure::of_symbols(of.iter().map(|(_, s)| *s))
        };
        Some((module, structure))
    };
    all.chunk_by(|a, b| a.0 == b.0)
        .filter_map(structure)
        .collect()
}

/// The one function of a region's module.
fn symbol(region: &str) -> Symbol {
    Symbol {
        function: true,
        name: format!("region {region}"),
        ..Default::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_runs_tell_of_a_module_is_put_together() {
        let run = |names: &[(u64, &str)]| Run {
            modules: vec![Module {
                path: "app".into(),
                ..Default::default()
            }],
            symbols: (names.iter())
                .map(|(offset, name)| Symbol {
                    offset: *offset,
                    function: true,
                    name: (*name).to_string(),
                    ..Default::default()
                })
                .collect(),
            ..Default::default()
        };
        let all = brought(&[
            run(&[(16, "main"), (48, "b")]),
            run(&[(16, "main"), (32, "a")]),
        ]);
        let [(module, structure)] = all.as_slice() else {
            panic!("one module");
        };
        let names: Vec<&str> = (structure.functions.iter())
            .map(|f| structure.string(f.name))
            .collect();
        assert_eq!(
            (module.path.as_str(), names),
            ("app", vec!["main", "a", "b"])
        );
        assert!(brought(&[Run::default()]).is_empty());
    }
}
