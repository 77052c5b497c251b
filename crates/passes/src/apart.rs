//! Telling causes apart that have one place: a function may be the cause once for each of its callers.

use headwater_model::diagnosis::{Cause, Place};
use headwater_model::words::location;

/// Names the innermost caller that a cause has and others of the same place have not.
pub fn tell_apart(causes: &mut [Cause]) {
    let paths: Vec<Vec<Place>> = causes.iter().map(|c| c.call_path.clone()).collect();
    for (i, cause) in causes.iter_mut().enumerate() {
        cause.called_from = own_caller(&paths, i);
    }
}

/// The innermost frame of path `own` that no other path to the same place shares, in words.
fn own_caller(paths: &[Vec<Place>], own: usize) -> Option<String> {
    let path = paths.get(own)?;
    let others = paths.iter().enumerate().filter(|(i, _)| *i != own);
    let shared = others.map(|(_, other)| shared_frames(path, other)).max()?;
    // The innermost frame is the place itself.
    let frame = path.iter().rev().nth(shared).filter(|_| shared > 0)?;
    Some(if frame.kind.is_loop() {
        format!("the loop in {} at {}", frame.function, location(frame))
    } else {
        frame.name.clone()
    })
}

/// Frames that two call paths share at their inner ends.
fn shared_frames(a: &[Place], b: &[Place]) -> usize {
    let pairs = a.iter().rev().zip(b.iter().rev());
    pairs.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_model::psg::VertexKind;

    fn path(names: &[&str]) -> Vec<Place> {
        let place = |name: &&str| Place {
            kind: VertexKind::Function,
            name: name.to_string(),
            function: name.to_string(),
            file: None,
            first_line: 0,
            last_line: 0,
            hot_line: 0,
            module: "app".into(),
            address: 0,
        };
        names.iter().map(place).collect()
    }

    #[test]
    fn the_nearest_caller_that_differs_is_named() {
        let paths = [
            path(&["main", "factor", "update", "dgemm"]),
            path(&["main", "solve", "update", "dgemm"]),
            path(&["main", "dgemm"]),
            path(&["main", "report"]),
        ];
        let told: Vec<_> = (0..4).map(|i| own_caller(&paths, i)).collect();
        let expected = ["factor", "solve", "main"].map(|n| Some(n.to_string()));
        assert_eq!(told[..3], expected);
        assert_eq!(told[3], None, "its place stands alone");
        assert_eq!(own_caller(&paths[..1], 0), None);
    }
}
