//! Finds the program's own code around a vertex, because users cannot change system headers.

use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::psg::VertexKind;

/// Parts of paths under which compilers and systems keep their own code.
const SYSTEM: [&str; 5] = [
    "/usr/include/",
    "/include/c++/",
    "/lib/gcc/",
    "/rustc/",
    "/rustlib/",
];

/// Whether a source file is the compiler's or the system's.
pub fn is_of_system(file: &str) -> bool {
    SYSTEM.iter().any(|part| file.contains(part))
}

/// Whether `v` has source lines of the program's own code.
fn is_own(pag: &Pag, v: VertexIx) -> bool {
    let file = pag.place(v).file;
    file.is_some_and(|f| !is_of_system(&f))
}

/// The innermost place around `v`, itself included, that is in the program's own code; `v` if there is none.
pub fn own(pag: &Pag, v: VertexIx) -> VertexIx {
    let is_reported =
        |v: &VertexIx| !matches!(pag.top.get(*v).kind, VertexKind::Branch | VertexKind::Comp);
    let mut around = pag.top.ancestors(v).filter(is_reported);
    around.find(|a| is_own(pag, *a)).unwrap_or(v)
}

/// The innermost loop around `v` in the program's own code, or else the innermost such place.
pub fn own_loop(pag: &Pag, v: VertexIx) -> VertexIx {
    let mut loops = pag
        .top
        .ancestors(v)
        .filter(|a| pag.top.get(*a).kind.is_loop());
    let found = loops.find(|a| *a > TopDown::WINDDOWN && is_own(pag, *a));
    found.unwrap_or_else(|| own(pag, v))
}
