//! Names of the functions that call paths end in.

use headwater_graph::Structures;
use headwater_model::run::{CtxId, Run};

/// The function that is called at a context, without the version of its symbol; `None` where that is not known.
pub fn at<'a>(run: &Run, structures: &'a Structures, ctx: CtxId) -> Option<&'a str> {
    let c = run.contexts.get(ctx.index()?)?;
    let structure = structures.find(run.modules.get(c.module as usize)?)?;
    let (function, vertex) = structure.locate(c.lookup())?;
    let function = structure.functions.get(function)?;
    let name = function.vertices.get(vertex as usize)?.name?;
    structure.string(name).split('@').next()
}
