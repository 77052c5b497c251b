//! Calls in a walk: what a function is given and returns, and which calls led to it.

use super::super::meaning::{self, Meaning};
use super::super::program::FunctionId;
use super::super::record::{Argument, Base, Offset};
use super::{ANY, Context, Stack, State, Walk};
use headwater_model::dependence::{Link, Origin};

/// Calls that may be open at once.
const DEEPEST: u32 = 12;

impl<'a> Walk<'_, 'a> {
    pub(super) fn enter(
        &mut self,
        function: FunctionId,
        call: u32,
        around: Stack,
    ) -> Option<Stack> {
        let key = (function, call, around);
        if let Some(known) = self.known_stacks.get(&key) {
            return Some(*known);
        }
        let depth = self.stacks.get(around as usize)?.3 + 1;
        if depth > DEEPEST {
            return None;
        }
        let number = self.stacks.len() as Stack;
        self.stacks.push((function, call, around, depth));
        self.known_stacks.insert(key, number);
        Some(number)
    }

    /// The call of a node as a link of a chain.
    pub(super) fn call_link(&self, function: FunctionId, call: u32) -> Option<Link> {
        let of = self.program.function(function)?;
        let call = of.calls.get(call as usize)?;
        let at = of.vertices.get(call.vertex as usize)?.at;
        let file = self.program.string(function.unit, at.file);
        Some(Link {
            name: self.program.string(function.unit, call.callee).to_string(),
            file: (!file.is_empty()).then(|| file.to_string()),
            line: at.line,
        })
    }

    /// A parameter's value, or with `at` the memory that it points to.
    pub(super) fn parameter(&mut self, step: usize, number: u32, at: Option<i64>) {
        let State {
            function, stack, ..
        } = self.steps[step].state;
        if self.is_main(function) {
            let link = self.call_site_of_main(function);
            return self.end(Origin::Input, Some(step), link);
        }
        let around = self.stacks.get(stack as usize).copied();
        if let (Some((caller, call, around, _)), true) = (around, stack > 0) {
            return self.given(step, caller, call, number, at, around);
        }
        // What nobody calls may be called by what is not seen, or is dead code: there is nothing true to say of it.
        let callers = self.program.callers(function);
        if callers.is_empty() || self.program.has_unseen_callers(function) {
            self.end(Origin::Unknown, Some(step), None);
        }
        for &(caller, call) in callers {
            self.given(step, caller, call, number, at, 0);
        }
    }

    /// What a call gives a parameter.
    pub(super) fn given(
        &mut self,
        step: usize,
        caller: FunctionId,
        call: u32,
        number: u32,
        at: Option<i64>,
        stack: Stack,
    ) {
        let calls = self.program.function(caller).map(|f| &f.calls);
        let call = calls.and_then(|c| c.get(call as usize));
        let Some(argument) = call.and_then(|c| c.arguments.get(number as usize)) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        let state = |node, asked| State {
            function: caller,
            node,
            asked,
            stack,
        };
        match (at, argument.base) {
            (None, _) => self.go(state(argument.value, ANY), Some(step)),
            (Some(_), Base::None(_)) => self.end(Origin::Constant, Some(step), None),
            (Some(_), Base::Elsewhere) => {
                let pointer = state(argument.value, ANY);
                let (origin, link) = self.behind(pointer);
                self.end(origin, Some(step), link);
            }
            (Some(at), _) => {
                let asked = match argument.offset {
                    Offset::At(base) if at != ANY => base.saturating_add(at),
                    _ => ANY,
                };
                self.go(state(argument.content, asked), Some(step));
            }
        }
    }

    pub(super) fn is_main(&self, function: FunctionId) -> bool {
        let of = self.program.function(function);
        of.is_some_and(|f| self.program.string(function.unit, f.symbol) == "main")
    }

    /// The calls that a function was entered by; `None` where not all are known.
    pub(super) fn contexts(&self, function: FunctionId, stack: Stack) -> Option<Vec<Context>> {
        if stack > 0 {
            let &(caller, call, around, _) = self.stacks.get(stack as usize)?;
            return Some(vec![(caller, call, around)]);
        }
        let callers = self.program.callers(function);
        if callers.is_empty() || self.program.has_unseen_callers(function) {
            return None;
        }
        let budget = &self.program.budget;
        budget.set(budget.get().checked_sub(callers.len() as u64)?);
        Some(callers.iter().map(|c| (c.0, c.1, 0)).collect())
    }

    pub(super) fn argument(&self, (caller, call, _): Context, number: u32) -> Option<&'a Argument> {
        let call = self.program.function(caller)?.calls.get(call as usize)?;
        call.arguments.get(number as usize)
    }

    pub(super) fn result(&mut self, step: usize, call: u32) {
        let State {
            function, stack, ..
        } = self.steps[step].state;
        let site = self.program.function(function);
        let Some(site) = site.and_then(|f| f.calls.get(call as usize)) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        if let Some(callee) = self.program.callee(function, site) {
            let result = self.program.function(callee).map(|f| f.result);
            let inside = self.enter(function, call, stack);
            let (Some(node), Some(stack)) = (result, inside) else {
                return self.end(Origin::Unknown, Some(step), None);
            };
            let state = State {
                function: callee,
                node,
                asked: ANY,
                stack,
            };
            return self.go(state, Some(step));
        }
        let symbol = self.program.string(function.unit, site.callee);
        match meaning::result(symbol) {
            Meaning::OfArguments => {
                for argument in &site.arguments {
                    self.made_of(step, argument, false);
                }
            }
            Meaning::New(origin) | Meaning::Partly(origin) => {
                let link = self.call_link(function, call);
                self.end(origin, Some(step), link);
            }
            Meaning::Untouched => {}
        }
    }

    /// An argument that a result is made of. A handle is its value, also where it is a pointer.
    pub(super) fn made_of(&mut self, step: usize, argument: &Argument, handle: bool) {
        match argument.base {
            Base::None(_) => self.on(argument.value, step),
            Base::Global(g) if handle && meaning::is_handle(self.symbol(step, g)) => {}
            Base::Elsewhere if handle => self.on(argument.value, step),
            Base::Elsewhere => {
                let state = State {
                    node: argument.value,
                    asked: ANY,
                    ..self.steps[step].state
                };
                let (origin, link) = self.behind(state);
                self.end(origin, Some(step), link);
            }
            _ => {
                let state = State {
                    node: argument.content,
                    asked: ANY,
                    ..self.steps[step].state
                };
                self.go(state, Some(step));
            }
        }
    }

    pub(super) fn symbol(&self, step: usize, number: u32) -> &'a str {
        let unit = self.steps[step].state.function.unit;
        self.program.string(unit, number)
    }

    /// `main` as a link: the end of the chain of what comes from the arguments of the program.
    pub(super) fn call_site_of_main(&self, function: FunctionId) -> Option<Link> {
        let of = self.program.function(function)?;
        let file = of.vertices.first().map_or(0, |v| v.at.file);
        let file = self.program.string(function.unit, file);
        Some(Link {
            name: "main".to_string(),
            file: (!file.is_empty()).then(|| file.to_string()),
            line: of.line,
        })
    }
}
