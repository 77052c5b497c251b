//! Calls that lead out of what the user can mend: told as the loop or function around them.

use crate::cause::Candidate;
use headwater_graph::{Pag, TopDown, VertexIx};
use headwater_model::diagnosis::CauseClass;
use headwater_model::psg::VertexKind;

/// Whether `v` is a call of code without source lines, outside the module that calls.
fn leads_out(pag: &Pag, v: VertexIx) -> bool {
    let vertex = pag.top.get(v);
    let inside =
        |c: &VertexIx| pag.place(*c).file.is_some() || pag.top.get(*c).module == vertex.module;
    vertex.kind == VertexKind::ExternalCall && !pag.children[v as usize].iter().any(inside)
}

/// Where a cause is computation in such a call, its place becomes the loop or function around it.
pub fn bring_home(pag: &Pag, found: Vec<Candidate>) -> Vec<Candidate> {
    let mut out: Vec<Candidate> = Vec::new();
    for mut c in found {
        // Sleep belongs to the call that sleeps.
        let computes = c.class.is_computation() && c.class != CauseClass::SystemCallOrIo;
        let call = pag.top.ancestors(c.vertex).find(|v| leads_out(pag, *v));
        let home = call.filter(|_| computes).and_then(|call| {
            let named = |v: &VertexIx| {
                let kind = pag.top.get(*v).kind;
                *v > TopDown::WINDDOWN
                    && (kind.is_loop()
                        || matches!(kind, VertexKind::Function | VertexKind::Inlined))
            };
            let around = pag.top.ancestors(call).skip(1).find(named)?;
            Some((around, pag.place(call).name))
        });
        if let Some((around, name)) = home {
            c.vertex = around;
            c.evidence.push(format!("mostly in {name}"));
        }
        let same = |kept: &&mut Candidate| {
            (kept.class, kept.vertex) == (c.class, c.vertex) && kept.ranks == c.ranks
        };
        match out.iter_mut().find(same) {
            Some(kept) => {
                kept.cost += c.cost;
                kept.gain += c.gain;
                kept.after.append(&mut c.after);
                kept.evidence.append(&mut c.evidence);
            }
            None => out.push(c),
        }
    }
    out
}
