//! Damaged files: whatever the bytes, a value or an error, within bounds.

use crate::build::library;
use crate::nesting::SOURCE;
use headwater_structure::{Options, analyse};

/// Numbers that look drawn, the same every time.
struct Draw(u64);

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % n.max(1)
    }
}

#[test]
fn bytes_of_any_kind_are_no_panic() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut draw = Draw(1);
    for flags in [["-g", "-O2"], ["-gdwarf-4", "-O2"], ["-O2", "-s"]] {
        let Some(file) = library(dir.path(), "gcc", &flags, "c", SOURCE) else {
            return;
        };
        let whole = std::fs::read(&file).expect("reads");
        for round in 0..200 {
            let mut bytes = whole.clone();
            if round % 4 == 0 {
                bytes.truncate(draw.below(whole.len()));
            }
            // Headers decide most, so half of the damage is done at both ends of the file.
            for _ in 0..1 + draw.below(30) {
                let at = match draw.below(4) {
                    0 => draw.below(4096),
                    1 => bytes.len().saturating_sub(1 + draw.below(4096)),
                    _ => draw.below(bytes.len()),
                };
                let value = draw.below(256) as u8;
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = value;
                }
            }
            std::fs::write(&file, &bytes).expect("writes");
            let Ok(s) = analyse(&file, &Options::default()) else {
                continue;
            };
            // A file gives no more than its bytes: nothing runs away.
            let vertices = s
                .functions
                .iter()
                .map(|f| f.vertices.len() + f.owners.len());
            let work = vertices.sum::<usize>() + s.lines.len() + s.counts.before;
            assert!(work <= 16 * bytes.len(), "round {round} {flags:?}: {work}");
            for f in &s.functions {
                let inside = |v: u32| (v as usize) < f.vertices.len();
                assert!(f.owners.iter().all(|o| o.0 <= o.1 && inside(o.2)));
                let parents = f.vertices.iter().enumerate();
                let mut parents = parents.filter_map(|(i, v)| Some((i, v.parent?)));
                assert!(parents.all(|(i, p)| (p as usize) < i), "parents come first");
            }
        }
    }
}
