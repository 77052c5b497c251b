//! Distinguishes causes at the same place: a function may be a separate cause in each phase in which it is called.

use headwater_model::diagnosis::{Cause, Place};
use headwater_model::psg::VertexKind;
use headwater_model::words;

/// For each of `causes`, names the innermost caller at which its call path differs from those of the other causes at
/// the same place. `several` says which causes have more than one call path themselves: those have no single caller.
pub fn disambiguate(causes: &mut [Cause], several: &[bool]) {
    let paths: Vec<Vec<Place>> = causes.iter().map(|c| c.call_path.clone()).collect();
    for ((i, cause), several) in causes.iter_mut().enumerate().zip(several) {
        cause.called_from = parting(&paths, i).filter(|_| !several).map(words::frame);
    }
}

/// The innermost frame at which path `own` differs from all others to the same place.
fn parting(paths: &[Vec<Place>], own: usize) -> Option<&Place> {
    let path = paths.get(own)?;
    let shared = |other: &Vec<Place>| {
        let pairs = path.iter().rev().zip(other.iter().rev());
        pairs.take_while(|(a, b)| alike(a, b)).count()
    };
    // A path that is identical to this one cannot be distinguished from it.
    let others = paths.iter().map(shared).filter(|n| *n < path.len());
    let shared = others.max().filter(|n| *n > 0)?;
    // The innermost frame is the place itself.
    path.iter().rev().nth(shared)
}

/// Whether two frames look the same to people: each copy of an inlined function has its own addresses, and a function may
/// be inlined in one caller and called by another.
fn alike(a: &Place, b: &Place) -> bool {
    let is_function = |p: &Place| matches!(p.kind, VertexKind::Function | VertexKind::Inlined);
    if a.kind != b.kind && is_function(a) && is_function(b) && a.file.is_some() {
        return (&a.name, &a.file, &a.module) == (&b.name, &b.file, &b.module);
    }
    let named = |p: &Place| p.file.is_some() && p.first_line > 0;
    let address = |p: &Place| if named(p) { 0 } else { p.address };
    (address(a), a.kind, &a.name, &a.function, &a.file, &a.module)
        == (address(b), b.kind, &b.name, &b.function, &b.file, &b.module)
        && (a.first_line, a.last_line) == (b.first_line, b.last_line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(names: &[&str]) -> Vec<Place> {
        let place = |name: &&str| Place {
            name: name.to_string(),
            ..Place::unknown(VertexKind::Function)
        };
        names.iter().map(place).collect()
    }

    fn callers(paths: &[Vec<Place>]) -> Vec<Option<&str>> {
        let name = |i| parting(paths, i).map(|p| p.name.as_str());
        (0..paths.len()).map(name).collect()
    }

    #[test]
    fn the_nearest_caller_that_differs_is_named() {
        let paths = [
            path(&["main", "factor", "update", "dgemm"]),
            path(&["main", "solve", "update", "dgemm"]),
            path(&["main", "dgemm"]),
            path(&["main", "report"]),
        ];
        assert_eq!(
            callers(&paths),
            [Some("factor"), Some("solve"), Some("main"), None]
        );
        assert_eq!(callers(&paths[..1]), [None]);
    }

    #[test]
    fn two_of_one_path_do_not_hide_a_third() {
        let twice = path(&["main", "factor", "dgemm"]);
        let paths = [twice.clone(), twice, path(&["main", "solve", "dgemm"])];
        assert_eq!(
            callers(&paths),
            [Some("factor"), Some("factor"), Some("solve")]
        );
    }

    #[test]
    fn a_function_that_is_inlined_once_and_called_once_is_one_frame() {
        let through = |caller: &str, kind, lines| {
            let mut frames = path(&["main", caller, "work", "loop"]);
            frames[2] = Place {
                kind,
                file: Some("work.c".into()),
                first_line: lines,
                last_line: lines,
                ..frames[2].clone()
            };
            frames
        };
        let paths = [
            through("serial", VertexKind::Function, 3),
            through("team", VertexKind::Inlined, 4),
        ];
        assert_eq!(callers(&paths), [Some("serial"), Some("team")]);
    }

    #[test]
    fn copies_of_an_inlined_function_are_one_place() {
        let copy = |caller: &str, address| {
            let mut frames = path(&["main", caller, "dot"]);
            frames[2] = Place {
                file: Some("blas.c".into()),
                first_line: 3,
                last_line: 9,
                address,
                ..frames[2].clone()
            };
            frames
        };
        let paths = [copy("factor", 0x100), copy("solve", 0x200)];
        assert_eq!(callers(&paths), [Some("factor"), Some("solve")]);
    }
}
