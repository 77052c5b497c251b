//! The vertices of the top-down view as ScalAna's tree: the start-up and the end are the functions in them, which are in
//! the tree already, and siblings are in the order of their lines.

use super::mpi_code;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::Place;
use headwater_model::printable::on_one_line;
use headwater_model::psg::VertexKind;
use headwater_model::run::OUTSIDE;
use headwater_model::scalana;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A vertex; its id is its place in the list.
#[derive(Clone, Debug, Default)]
pub struct Vertex {
    /// Type: ScalAna's, or the number of an MPI function.
    pub code: i64,
    /// Name of a function or of what is called.
    pub name: String,
    /// Directory and file.
    pub at: (Option<usize>, Option<usize>),
    /// Source lines, 0 where unknown.
    pub lines: (u32, u32),
    /// Vertices directly in it.
    pub children: usize,
}

impl Vertex {
    /// Directory, file, first and last line, -1 where unknown.
    pub fn place(&self) -> String {
        let index = |ix: Option<usize>| ix.map_or(-1, |i| i as i64);
        let line = |line: u32| if line == 0 { -1 } else { i64::from(line) };
        let (dir, file) = (index(self.at.0), index(self.at.1));
        format!("{dir} {file} {} {}", line(self.lines.0), line(self.lines.1))
    }
}

/// The tree, in pre-order.
#[derive(Default)]
pub struct Tree {
    /// Vertices.
    pub vertices: Vec<Vertex>,
    /// Directories.
    pub dirs: Vec<String>,
    /// Files.
    pub files: Vec<String>,
    /// MPI functions, by their numbers.
    pub mpi: BTreeMap<i64, String>,
    /// The vertex of each vertex of the view; `None` for what is outside of the tree.
    pub of: Vec<Option<usize>>,
}

/// Vertices of the view that are one vertex.
struct Node {
    first: VertexIx,
    children: Vec<usize>,
}

/// What distinguishes vertices in a vertex.
type Key = (usize, u32, u32, u32, u64);

/// Position of the root among the nodes.
const ROOT: usize = 0;

impl Tree {
    /// The tree of a graph.
    pub fn new(pag: &Pag) -> Self {
        let (nodes, node_of) = nodes(pag);
        let mut this = Self::default();
        // A program that has one outermost function is that function.
        let outermost = nodes.first().map_or(&[][..], |root| &root.children);
        let top = match outermost {
            [one] if kind(pag, &nodes, *one) == Some(VertexKind::Function) => *one,
            _ => ROOT,
        };
        let mut ids: FxHashMap<usize, usize> = FxHashMap::default();
        let (mut dirs, mut files) = (Names::default(), Names::default());
        let mut open = vec![top];
        while let Some(at) = open.pop() {
            let Some(node) = nodes.get(at) else {
                continue;
            };
            ids.insert(at, this.vertices.len());
            let described = this.describe(pag, node.first, &mut dirs, &mut files);
            this.vertices.push(Vertex {
                children: node.children.len(),
                ..described
            });
            open.extend(node.children.iter().rev().copied());
        }
        (this.dirs, this.files) = (dirs.all, files.all);
        this.of = (node_of.iter())
            .map(|n| n.and_then(|n| ids.get(&n).copied()))
            .collect();
        // What the program spends in no function of its own is its outermost one's.
        for stage in [TopDown::ROOT, TopDown::STARTUP, TopDown::WINDDOWN] {
            if let Some(of) = this.of.get_mut(stage as usize) {
                *of = Some(0);
            }
        }
        this
    }

    /// A vertex without its children.
    fn describe(&mut self, pag: &Pag, v: VertexIx, dirs: &mut Names, files: &mut Names) -> Vertex {
        let (place, top) = (pag.place(v), pag.top.get(v));
        let mpi = match top.kind.is_call() {
            true => top.mpi.as_deref().or(Some(place.name.as_str())),
            false => None,
        };
        let mpi = mpi.and_then(|name| Some((mpi_code(name)?, name)));
        if let Some((code, name)) = mpi {
            self.mpi.insert(code, name.to_string());
        }
        let name = name(&place);
        let (dir, file) = match place.file.as_deref().map(on_one_line) {
            None => (None, None),
            Some(path) => match path.rsplit_once('/') {
                Some((dir, file)) => (Some(dirs.of(dir)), Some(files.of(file))),
                None => (None, Some(files.of(&path))),
            },
        };
        Vertex {
            code: mpi.map_or_else(|| code(top.kind), |(code, _)| code),
            name,
            at: (dir, file),
            lines: (place.first_line, place.last_line.max(place.first_line)),
            children: 0,
        }
    }
}

/// The name of a function, or of what is called; empty for anything else.
fn name(place: &Place) -> String {
    on_one_line(match place.kind {
        VertexKind::Function if place.name.is_empty() => &place.function,
        VertexKind::Function | VertexKind::Inlined => &place.name,
        kind if kind.is_call() => &place.name,
        _ => "",
    })
}

/// Names with their numbers.
#[derive(Default)]
struct Names {
    all: Vec<String>,
    known: FxHashMap<String, usize>,
}

impl Names {
    fn of(&mut self, name: &str) -> usize {
        if let Some(known) = self.known.get(name) {
            return *known;
        }
        self.known.insert(name.to_string(), self.all.len());
        self.all.push(name.to_string());
        self.all.len() - 1
    }
}

fn kind(pag: &Pag, nodes: &[Node], at: usize) -> Option<VertexKind> {
    nodes.get(at).map(|n| pag.top.get(n.first).kind)
}

/// Joins the vertices of the stages with those of the rest; the first node is the root. Also returns the node of each
/// vertex.
fn nodes(pag: &Pag) -> (Vec<Node>, Vec<Option<usize>>) {
    let is_stage = |v: VertexIx| v <= TopDown::WINDDOWN;
    let mut nodes = vec![Node {
        first: TopDown::ROOT,
        children: Vec::new(),
    }];
    let mut known: FxHashMap<Key, usize> = FxHashMap::default();
    let mut node_of: Vec<Option<usize>> = Vec::with_capacity(pag.top.vertices.len());
    for v in 0..pag.top.vertices.len() as VertexIx {
        if is_stage(v) {
            node_of.push(Some(ROOT));
            continue;
        }
        let vertex = pag.top.get(v);
        // A parent comes before its children.
        let around = vertex
            .parent
            .and_then(|p| node_of.get(p as usize).copied().flatten());
        let is_outside = around == Some(ROOT) && pag.place(v).function == OUTSIDE;
        let Some(around) = around.filter(|_| !is_outside) else {
            node_of.push(None);
            continue;
        };
        let is_known = vertex.function != u32::MAX;
        let address = if is_known { 0 } else { vertex.address };
        let key = (around, vertex.module, vertex.function, vertex.psg, address);
        let next = nodes.len();
        let node = *known.entry(key).or_insert(next);
        if node == next {
            nodes.push(Node {
                first: v,
                children: Vec::new(),
            });
            if let Some(around) = nodes.get_mut(around) {
                around.children.push(next);
            }
        }
        node_of.push(Some(node));
    }
    let order = pag.top.program_order();
    let keys: Vec<_> = (nodes.iter())
        .map(|n| {
            let place = pag.place(n.first);
            let lines = (place.first_line, place.last_line);
            let position = order.get(n.first as usize).copied();
            // Functions are behind the rest, whether they were inlined or not: files of ScalAna do not say which.
            let is_function = code(place.kind) == scalana::FUNCTION;
            let name = match is_function {
                true => name(&place),
                false => String::new(),
            };
            (is_function, lines, place.file, name, position)
        })
        .collect();
    for node in &mut nodes {
        node.children
            .sort_by(|a, b| keys.get(*a).cmp(&keys.get(*b)));
    }
    (nodes, node_of)
}

/// The type of a vertex that is no call of MPI.
fn code(kind: VertexKind) -> i64 {
    use VertexKind::*;
    match kind {
        Function | Inlined => scalana::FUNCTION,
        Loop | IrreducibleLoop => scalana::LOOP,
        Branch => scalana::BRANCH,
        Call | MpiCall | ExternalCall | ThreadCall | LockCall => scalana::CALL,
        IndirectCall => scalana::INDIRECT,
        RecursiveCall => scalana::RECURSIVE,
        Comp => scalana::COMPUTATION,
    }
}
