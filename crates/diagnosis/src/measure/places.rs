//! Places in the source: a place is all vertices that call paths and compilers made from one loop, function or call.
//!
//! A place is identified by module, file, function, kind and lines. Unrolled, peeled, cloned and inlined copies of a
//! loop have these in common, and so has a loop on several call paths. Differences between ranks are decided by place,
//! and only afterwards by call path.

use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashMap;

/// The place of each vertex of the top-down view.
pub struct Places {
    /// By vertex.
    of: Vec<u32>,
    /// By vertex: whether no vertex around it is the same place.
    outermost: Vec<bool>,
}

/// What identifies a place in the source.
#[derive(PartialEq, Eq, Hash)]
struct Source {
    module: u32,
    kind: VertexKind,
    file: String,
    function: String,
    /// The callee of a call: one line may have several.
    name: String,
    lines: (u32, u32),
}

/// What identifies a vertex of a function's structure.
type Site = (u32, u32, u32);

/// The name of a function without what a compiler appends to the names of its clones (`.constprop.0`, `.isra.0`,
/// `.part.0`, `.cold`).
fn without_clone(name: &str) -> &str {
    let marks = [".constprop.", ".isra.", ".part.", ".lto_priv.", ".cold"];
    let cut = marks.iter().filter_map(|m| name.find(m)).min();
    cut.and_then(|at| name.get(..at)).unwrap_or(name)
}

fn source(pag: &Pag, v: VertexIx) -> Option<Source> {
    let place = pag.top.place(&pag.structures, v);
    let file = place.file.filter(|_| place.first_line > 0)?;
    let vertex = pag.top.get(v);
    let (kind, function, name) = match vertex.kind {
        // The name of an inlined function is its own; its `function` is the one around it.
        VertexKind::Function | VertexKind::Inlined => {
            (VertexKind::Function, place.name, String::new())
        }
        VertexKind::IrreducibleLoop => (VertexKind::Loop, place.function, String::new()),
        kind if kind.is_call() => (kind, place.function, place.name),
        kind => (kind, place.function, String::new()),
    };
    Some(Source {
        module: vertex.module,
        kind,
        file,
        function: without_clone(&function).to_string(),
        name,
        lines: (place.first_line, place.last_line),
    })
}

impl Places {
    /// The places of a graph.
    pub fn new(pag: &Pag) -> Self {
        let mut by_site: FxHashMap<Site, u32> = FxHashMap::default();
        let mut by_source: FxHashMap<Source, u32> = FxHashMap::default();
        let mut next = 0;
        let mut new = || {
            next += 1;
            next - 1
        };
        let mut of: Vec<u32> = Vec::with_capacity(pag.top.vertices.len());
        for (v, vertex) in (0..).zip(&pag.top.vertices) {
            // A vertex in no known function is a place of its own.
            if vertex.function == u32::MAX {
                of.push(new());
                continue;
            }
            let site = (vertex.module, vertex.function, vertex.psg);
            let place = match by_site.get(&site) {
                Some(known) => *known,
                None => match source(pag, v) {
                    Some(source) => *by_source.entry(source).or_insert_with(&mut new),
                    None => new(),
                },
            };
            by_site.insert(site, place);
            of.push(place);
        }
        let same_around = |v: VertexIx| {
            let mut around = pag.top.ancestors(v).skip(1);
            around.any(|a| of.get(a as usize) == of.get(v as usize))
        };
        let outermost = (0..of.len() as VertexIx).map(|v| !same_around(v));
        let outermost = outermost.collect();
        Self { of, outermost }
    }

    /// The place of a vertex.
    pub fn of(&self, v: VertexIx) -> u32 {
        self.of.get(v as usize).copied().unwrap_or(u32::MAX)
    }

    /// Whether no vertex around `v` is the same place: recursion counts once.
    pub fn is_outermost(&self, v: VertexIx) -> bool {
        self.outermost.get(v as usize).copied().unwrap_or(false)
    }

    /// The vertices of a place.
    pub fn vertices(&self, place: u32) -> Vec<VertexIx> {
        let all = (0..).zip(&self.of).filter(|(_, of)| **of == place);
        all.map(|(v, _)| v).collect()
    }
}

/// Whether a report may name `v` as the place of computation: people do not look for branches and straight code, and
/// the root is the whole program.
pub fn is_named(pag: &Pag, v: VertexIx) -> bool {
    let kind = pag.top.get(v).kind;
    v != TopDown::ROOT && !matches!(kind, VertexKind::Branch | VertexKind::Comp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_of_a_function_have_its_name() {
        for (name, plain) in [
            ("solve.constprop.0", "solve"),
            ("solve.part.0.isra.1", "solve"),
            ("solve.cold", "solve"),
            ("solve", "solve"),
            ("a.b", "a.b"),
        ] {
            assert_eq!(without_clone(name), plain);
        }
    }
}
