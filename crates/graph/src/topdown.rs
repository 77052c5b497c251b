//! The top-down view: joins the structure trees of functions along the call paths that were seen (PerFlow, section 3.4;
//! ScalAna's complete PSG, but only where the program went).
//!
//! A parent always has a smaller index than its children. A function that is already on the call path is not entered
//! again: recursion makes a cycle, not an endless tree (ScalAna, section III-A).

use crate::structures::Structures;
use headwater_model::diagnosis::Place;
use headwater_model::psg::{Vertex, VertexKind};
use headwater_mpi_abi::id_of;
use rustc_hash::FxHashMap;

/// Index of a vertex of the top-down view.
pub type VertexIx = u32;

/// A place in the source, on any call path: module, function and vertex within it.
pub type Site = (u32, u32, u32);

/// A vertex of the top-down view.
#[derive(Clone, Debug, PartialEq)]
pub struct TopVertex {
    /// What it is.
    pub kind: VertexKind,
    /// The vertex that encloses it; `None` only for the root.
    pub parent: Option<VertexIx>,
    /// Index into the structures; `u32::MAX` for the first three vertices.
    pub module: u32,
    /// Function within the module; `u32::MAX` where the address is in no known function.
    pub function: u32,
    /// Vertex within the function. A call of MPI from a line of Python, which the structure does not have, has a number
    /// of its own.
    pub psg: u32,
    /// Address within the module.
    pub address: u64,
    /// The MPI function that is called here, if a call of it was recorded.
    pub mpi: Option<String>,
}

/// Bit of the number of a call of MPI from a line of Python: before it is the function, behind it the line's vertex.
const ON_LINE: u32 = 1 << 31;
const LINE_BITS: u32 = 20;

impl TopVertex {
    /// The vertex within the function that has the line.
    fn on_line(&self) -> u32 {
        match self.psg & ON_LINE {
            0 => self.psg,
            _ => self.psg & ((1 << LINE_BITS) - 1),
        }
    }
}

/// The top-down view. Vertex 0 is the root: the process itself; 1 and 2 are what it computes before
/// its first and after its last MPI call.
#[derive(Debug)]
pub struct TopDown {
    /// All vertices, parents first.
    pub vertices: Vec<TopVertex>,
    index: FxHashMap<(VertexIx, u32, u32, u64), VertexIx>,
}

impl Default for TopDown {
    fn default() -> Self {
        let fixed = |parent| TopVertex {
            kind: VertexKind::Function,
            parent,
            module: u32::MAX,
            function: u32::MAX,
            psg: 0,
            address: 0,
            mpi: None,
        };
        let stage = fixed(Some(Self::ROOT));
        Self {
            vertices: vec![fixed(None), stage.clone(), stage],
            index: FxHashMap::default(),
        }
    }
}

impl TopDown {
    /// The root.
    pub const ROOT: VertexIx = 0;

    /// Computation before the first MPI call.
    pub const STARTUP: VertexIx = 1;

    /// Computation between the last MPI call and `MPI_Finalize`.
    pub const WINDDOWN: VertexIx = 2;

    /// The vertex behind an index.
    pub fn get(&self, v: VertexIx) -> &TopVertex {
        &self.vertices[v as usize]
    }

    /// `v` and the vertices around it, innermost first, without the root.
    pub fn ancestors(&self, v: VertexIx) -> impl Iterator<Item = VertexIx> + '_ {
        std::iter::successors(Some(v), |v| self.get(*v).parent).filter(|v| *v != Self::ROOT)
    }

    /// The innermost region of the program's own that `v` is in; the root if it is in none.
    pub fn region(&self, structures: &Structures, v: VertexIx) -> VertexIx {
        let is_region = |v: &VertexIx| {
            let module = structures.get(self.get(*v).module);
            module.is_some_and(|(module, _)| module.region().is_some())
        };
        self.ancestors(v).find(is_region).unwrap_or(Self::ROOT)
    }

    /// Whether `inner` is `outer` or inside it.
    pub fn contains(&self, outer: VertexIx, inner: VertexIx) -> bool {
        // Parents have smaller indices: no vertex with a smaller index than `outer` is inside it.
        let mut here = inner;
        while here > outer {
            here = self.get(here).parent.unwrap_or(Self::ROOT);
        }
        here == outer
    }

    /// Children of every vertex, in index order.
    pub fn children(&self) -> Vec<Vec<VertexIx>> {
        let mut children = vec![Vec::new(); self.vertices.len()];
        for (i, vertex) in self.vertices.iter().enumerate() {
            if let Some(parent) = vertex.parent {
                children[parent as usize].push(i as VertexIx);
            }
        }
        children
    }

    /// The position of every vertex in program order: first the start-up, then the tree from its root on, with the
    /// vertices of a function in their order, then the end.
    pub fn program_order(&self) -> Vec<u32> {
        let mut children = self.children();
        let key = |v: &VertexIx| {
            let vertex = self.get(*v);
            let stage = match *v {
                Self::STARTUP => 0,
                Self::WINDDOWN => 2,
                _ => 1,
            };
            (
                stage,
                vertex.module,
                vertex.function,
                vertex.psg,
                vertex.address,
                *v,
            )
        };
        let mut order = vec![0; self.vertices.len()];
        let mut open = vec![Self::ROOT];
        let mut next = 0;
        while let Some(v) = open.pop() {
            order[v as usize] = next;
            next += 1;
            let inside = &mut children[v as usize];
            inside.sort_unstable_by_key(key);
            open.extend(inside.drain(..).rev());
        }
        order
    }

    /// The deepest vertex that encloses both.
    pub fn common_ancestor(&self, mut a: VertexIx, mut b: VertexIx) -> VertexIx {
        // Parents have smaller indices, so the larger index is never an ancestor of the other.
        while a != b {
            if a > b {
                a = self.get(a).parent.unwrap_or(Self::ROOT);
            } else {
                b = self.get(b).parent.unwrap_or(Self::ROOT);
            }
        }
        a
    }

    /// The vertex for `address` of a module, called from `caller`; `address` is inside the function.
    pub(crate) fn enter(
        &mut self,
        structures: &Structures,
        caller: VertexIx,
        module: u32,
        address: u64,
    ) -> VertexIx {
        let found = structures
            .get(module)
            .and_then(|(_, s)| s.locate(address).map(|at| (s, at)));
        let Some((structure, (function, leaf))) = found else {
            return self.child(
                caller,
                module,
                u32::MAX,
                address,
                VertexKind::Function,
                address,
            );
        };
        let vertices: &[Vertex] = &structure.functions[function].vertices;
        let function = function as u32;
        let is_region =
            (structures.get(module)).is_some_and(|(module, _)| module.region().is_some());
        let is_it = |v: &VertexIx| {
            let vertex = self.get(*v);
            vertex.module == module && vertex.function == function && vertex.psg == 0
        };
        // A thread that begins a region in which it was made is still called from where it was made.
        let entered = match is_region {
            true => Some(caller).filter(is_it),
            false => self.ancestors(caller).find(is_it),
        };
        let mut chain = Vec::new();
        let mut at = Some(leaf);
        while let Some(id) = at.filter(|id| *id != 0) {
            chain.push(id);
            // A parent comes before its child; anything else would be a broken tree.
            at = vertices
                .get(id as usize)
                .and_then(|v| v.parent)
                .filter(|p| *p < id);
        }
        let start = vertices.first().map_or(address, |v| v.address);
        let mut here = entered.unwrap_or_else(|| {
            self.child(caller, module, function, 0, VertexKind::Function, start)
        });
        for id in chain.into_iter().rev() {
            let (kind, start) = vertices
                .get(id as usize)
                .map_or((VertexKind::Comp, address), |v| (v.kind, v.address));
            here = self.child(here, module, function, u64::from(id), kind, start);
        }
        here
    }

    /// The vertex of a call of the MPI function `name` from a line of Python: a line may also call other functions, and its
    /// own code computes. The line itself if there are too many lines or functions.
    pub(crate) fn mpi_call(&mut self, line: VertexIx, name: &str) -> VertexIx {
        let (module, function, psg, address) = {
            let vertex = self.get(line);
            (vertex.module, vertex.function, vertex.psg, vertex.address)
        };
        let (Some(id), true) = (id_of(name), psg < 1 << LINE_BITS) else {
            return line;
        };
        let number = ON_LINE | u32::from(id.0) << LINE_BITS | psg;
        if u32::from(id.0) >= ON_LINE >> LINE_BITS {
            return line;
        }
        let kind = VertexKind::MpiCall;
        let call = self.child(line, module, function, u64::from(number), kind, address);
        if let Some(vertex) = self.vertices.get_mut(call as usize) {
            vertex.mpi = Some(name.to_string());
        }
        call
    }

    /// The vertex of a call; for a call of MPI from a line of Python, that of the line.
    pub(crate) fn of_line(&self, call: VertexIx) -> VertexIx {
        let vertex = self.get(call);
        match vertex.psg & ON_LINE {
            0 => call,
            _ => vertex.parent.unwrap_or(Self::ROOT),
        }
    }

    /// The vertex around a call: for one from a line of Python, that around the line.
    pub(crate) fn around_call(&self, call: VertexIx) -> VertexIx {
        let call = self.of_line(call);
        self.get(call).parent.unwrap_or(Self::ROOT)
    }

    fn child(
        &mut self,
        parent: VertexIx,
        module: u32,
        function: u32,
        id: u64,
        kind: VertexKind,
        address: u64,
    ) -> VertexIx {
        let next = self.vertices.len() as VertexIx;
        let vertices = &mut self.vertices;
        *self
            .index
            .entry((parent, module, function, id))
            .or_insert_with(|| {
                vertices.push(TopVertex {
                    kind,
                    parent: Some(parent),
                    module,
                    function,
                    psg: if function == u32::MAX { 0 } else { id as u32 },
                    address,
                    mpi: None,
                });
                next
            })
    }

    /// Where `v` is, in words for people.
    pub fn place(&self, structures: &Structures, v: VertexIx) -> Place {
        let vertex = self.get(v);
        let mut place = Place {
            address: vertex.address,
            ..Place::unknown(vertex.kind)
        };
        let Some((module, structure)) = structures.get(vertex.module) else {
            place.name = match v {
                Self::STARTUP => "the start-up before the first MPI call",
                Self::WINDDOWN => "the end after the last MPI call",
                _ => "the program",
            }
            .to_string();
            return place;
        };
        place.module = module.path.clone();
        if let Some(function) = structure.functions.get(vertex.function as usize) {
            place.function = structure.string(function.name).to_string();
            if let Some(psg) = function.vertices.get(vertex.on_line() as usize) {
                place.name = psg
                    .name
                    .map_or_else(String::new, |n| structure.string(n).to_string());
                place.file = psg.file.map(|f| structure.string(f).to_string());
                (place.first_line, place.last_line) = (psg.first_line, psg.last_line);
            }
        } else {
            let base = module.path.rsplit('/').next().unwrap_or(&module.path);
            place.function = format!("{base}@{:#x}", vertex.address);
        }
        // An inlined function is still the function that people know.
        let inlined = self.ancestors(v).skip(1).find(|a| {
            let around = self.get(*a);
            around.kind == VertexKind::Inlined
                && around.function == vertex.function
                && around.module == vertex.module
        });
        if let Some(around) = inlined.map(|a| self.get(a))
            && let Some(name) = structure
                .functions
                .get(around.function as usize)
                .and_then(|f| f.vertices.get(around.psg as usize))
                .and_then(|v| v.name)
        {
            place.function = structure.string(name).to_string();
        }
        if let Some(mpi) = &vertex.mpi {
            place.name = mpi.clone();
        }
        if place.name.is_empty() {
            place.name = place.function.clone();
        }
        place
    }

    /// The site of a vertex; `None` where its function is not known.
    pub fn site(&self, v: VertexIx) -> Option<Site> {
        let vertex = self.get(v);
        let site = (vertex.module, vertex.function, vertex.psg);
        (vertex.function != u32::MAX).then_some(site)
    }

    /// Whether two vertices are one place in the source, on different call paths; never where the function is not
    /// known.
    pub fn is_same_place(&self, a: VertexIx, b: VertexIx) -> bool {
        let site = self.site(a);
        site.is_some() && site == self.site(b)
    }

    /// The functions, inlined functions and loops around `v`, outermost first, ending with `v`.
    pub fn call_path(&self, structures: &Structures, v: VertexIx) -> Vec<Place> {
        let kept =
            |k: VertexKind| matches!(k, VertexKind::Function | VertexKind::Inlined) || k.is_loop();
        let mut path: Vec<VertexIx> = self
            .ancestors(v)
            .filter(|&a| a == v || kept(self.get(a).kind))
            .collect();
        path.reverse();
        path.into_iter()
            .map(|a| self.place(structures, a))
            .collect()
    }
}
