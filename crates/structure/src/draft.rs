//! Vertices of one function while they are found, before their strings are numbered.

use headwater_model::psg::VertexKind;

/// A name before it is a number of a string.
#[derive(Clone, Copy)]
pub enum Name<'a> {
    /// A callee by number.
    Callee(u32),
    /// An inlined function.
    Inlined(&'a str),
}

/// A vertex before its strings are numbered.
pub struct DraftVertex<'a> {
    /// What it is.
    pub kind: VertexKind,
    /// The vertex that it is in.
    pub parent: Option<u32>,
    /// Callee or inlined function.
    pub name: Option<Name<'a>>,
    /// Index into the module's files; `u32::MAX` where unknown.
    pub file: u32,
    /// First line; 0 where unknown.
    pub first_line: u32,
    /// Last line; 0 where unknown.
    pub last_line: u32,
    /// Lowest address.
    pub address: u64,
}

/// The tree of one function.
pub struct Draft<'a> {
    /// Its vertices in preorder.
    pub vertices: Vec<DraftVertex<'a>>,
    /// Addresses `[start, end)` and the vertex that owns them.
    pub owners: Vec<(u64, u64, u32)>,
}

/// A vertex found again by where it is and what it is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Key {
    /// A loop by file and first line.
    Loop(u32, u32),
    /// A loop without lines, by its address.
    LoopAt(u64),
    /// A branch by its deciding block.
    Branch(u32),
    /// An inlined function by its number.
    Inline(usize),
    /// The computation of its parent.
    Comp,
}

/// Numbers vertices so that each comes before what is inside it, in the order of addresses.
pub fn in_preorder(
    vertices: Vec<DraftVertex<'_>>,
    owners: Vec<(u64, u64, u32)>,
) -> (Vec<DraftVertex<'_>>, Vec<(u64, u64, u32)>) {
    // Children of one vertex are together, the last address first, as a stack takes them.
    let parent = |c: u32| vertices[c as usize].parent;
    let mut children: Vec<u32> = (0..vertices.len() as u32)
        .filter(|c| parent(*c).is_some())
        .collect();
    children.sort_unstable_by_key(|c| {
        let address = vertices[*c as usize].address;
        (parent(*c), std::cmp::Reverse((address, *c)))
    });
    let mut first = vec![0usize; vertices.len() + 1];
    for &child in &children {
        if let Some(p) = parent(child) {
            first[p as usize + 1] += 1;
        }
    }
    for i in 1..first.len() {
        first[i] += first[i - 1];
    }
    let mut order = Vec::with_capacity(vertices.len());
    let mut stack = vec![0u32];
    while let Some(v) = stack.pop() {
        order.push(v);
        stack.extend(&children[first[v as usize]..first[v as usize + 1]]);
    }
    let mut number = vec![0u32; vertices.len()];
    order
        .iter()
        .zip(0..)
        .for_each(|(v, i)| number[*v as usize] = i);
    let mut slots: Vec<Option<DraftVertex<'_>>> = vertices.into_iter().map(Some).collect();
    let moved = order.iter().filter_map(|v| slots[*v as usize].take());
    let moved = moved
        .map(|v| DraftVertex {
            parent: v.parent.map(|p| number[p as usize]),
            ..v
        })
        .collect();
    (
        moved,
        owners
            .into_iter()
            .map(|(a, b, v)| (a, b, number[v as usize]))
            .collect(),
    )
}
