//! Groups vertices that are one place in the source: on several call paths, or copied by the compiler.

use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::psg::VertexKind;
use rustc_hash::FxHashMap;

/// The places of all vertices.
pub struct SourcePlaces {
    of: Vec<u32>,
    vertices: Vec<Vec<VertexIx>>,
}

/// The stage of the run that a vertex is in: its start-up, its end, or between them (`None`).
type Stage = Option<VertexIx>;

fn stage(pag: &Pag, v: VertexIx) -> Stage {
    let stages = [TopDown::STARTUP, TopDown::WINDDOWN];
    stages.into_iter().find(|s| pag.top.contains(*s, v))
}

/// What all vertices of a place have in common.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    /// The file and first line of a loop; copies of it may end on other lines, where the compiler moved code.
    Loop(String, u32),
    /// A function, inlined or not.
    Function(String, String),
    /// A vertex of the structure.
    Site(u32, u32, u32),
    /// A vertex about which nothing is known.
    Alone(VertexIx),
}

impl SourcePlaces {
    /// Groups the vertices of a graph.
    pub fn new(pag: &Pag) -> Self {
        let mut places: FxHashMap<(Stage, Key), u32> = FxHashMap::default();
        let mut this = Self {
            of: Vec::with_capacity(pag.top.vertices.len()),
            vertices: Vec::new(),
        };
        for v in 0..pag.top.vertices.len() as VertexIx {
            let next = this.vertices.len() as u32;
            let place = *places.entry((stage(pag, v), key(pag, v))).or_insert(next);
            if place == next {
                this.vertices.push(Vec::new());
            }
            // A recursive place counts where it is entered first. Parents have smaller indices.
            let mut around = pag.top.ancestors(v).skip(1);
            let again = around.any(|a| this.of(a) == place);
            this.of.push(place);
            let own = this.vertices.get_mut(place as usize).filter(|_| !again);
            own.into_iter().for_each(|all| all.push(v));
        }
        this
    }

    /// The place of a vertex.
    pub fn of(&self, v: VertexIx) -> u32 {
        self.of.get(v as usize).copied().unwrap_or(0)
    }

    /// The vertices of a place, none inside another one, ascending.
    pub fn vertices(&self, place: u32) -> &[VertexIx] {
        self.vertices.get(place as usize).map_or(&[], |all| all)
    }

    /// How many places there are.
    pub fn len(&self) -> u32 {
        self.vertices.len() as u32
    }
}

fn key(pag: &Pag, v: VertexIx) -> Key {
    let vertex = pag.top.get(v);
    if vertex.function == u32::MAX {
        return Key::Alone(v);
    }
    let site = Key::Site(vertex.module, vertex.function, vertex.psg);
    let place = pag.place(v);
    let Some(file) = place.file.filter(|_| place.first_line > 0) else {
        return site;
    };
    match vertex.kind {
        kind if kind.is_loop() => Key::Loop(file, place.first_line),
        VertexKind::Function | VertexKind::Inlined if !place.name.is_empty() => {
            Key::Function(file, place.name)
        }
        _ => site,
    }
}
