//! Numbers of modules and calling contexts in a pooled run: the recordings number them differently.

use headwater_model::run::{Context, CtxId, Run, Symbol};
use rustc_hash::FxHashMap;

/// Numbers of modules and calling contexts in a pooled run.
pub(super) struct Numbers {
    /// By what identifies a module.
    modules: FxHashMap<String, u32>,
    contexts: FxHashMap<Context, CtxId>,
}

impl Numbers {
    /// Those of the first recording.
    pub(super) fn new(run: &Run) -> Self {
        let mut this = Self {
            modules: FxHashMap::default(),
            contexts: FxHashMap::default(),
        };
        for (module, number) in run.modules.iter().zip(0..) {
            let known = this.modules.entry(module.identity().to_string());
            known.or_insert(number);
        }
        for (context, number) in run.contexts.iter().zip((0..).map(CtxId)) {
            this.contexts.entry(*context).or_insert(number);
        }
        this
    }

    /// The numbers of a recording's contexts, by its own numbers; new ones are added to `out`.
    pub(super) fn of(&mut self, run: &Run, out: &mut Run) -> Vec<CtxId> {
        let mut modules: Vec<u32> = Vec::with_capacity(run.modules.len());
        for module in &run.modules {
            let known = self.modules.entry(module.identity().to_string());
            modules.push(*known.or_insert_with(|| {
                out.modules.push(module.clone());
                out.modules.len() as u32 - 1
            }));
        }
        let here = |module: u32| modules.get(module as usize).copied().unwrap_or(u32::MAX);
        let mut ids: Vec<CtxId> = Vec::with_capacity(run.contexts.len());
        for context in &run.contexts {
            // A parent comes before its children.
            let parent = context.parent.index().and_then(|i| ids.get(i)).copied();
            let context = Context {
                parent: parent.unwrap_or(CtxId::NONE),
                module: here(context.module),
                ..*context
            };
            ids.push(*self.contexts.entry(context).or_insert_with(|| {
                out.contexts.push(context);
                CtxId(out.contexts.len() as u32 - 1)
            }));
        }
        let symbol = |s: &Symbol| Symbol {
            module: here(s.module),
            ..s.clone()
        };
        out.symbols.extend(run.symbols.iter().map(symbol));
        let place = |s: &Symbol| (s.module, s.offset);
        out.symbols.sort_by_key(place);
        out.symbols.dedup_by_key(|s| place(s));
        ids
    }
}
