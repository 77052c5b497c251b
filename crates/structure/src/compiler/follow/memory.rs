//! Memory in a walk: who wrote an object's state, and who else may point to it.

use super::super::meaning::{self, Meaning};
use super::super::program::FunctionId;
use super::super::record::{Base, Kind, Left, Node, Offset};
use super::{ANY, Stack, State, Walk};
use headwater_model::dependence::{Link, Origin};

/// Walks within walks.
const NESTED: u32 = 2;
/// Calls that a parameter's object may have been passed on by.
const PASSED: u32 = 5;
/// A node that no function has: it is unknown.
const NOWHERE: u32 = u32::MAX;
/// Bytes of a number that a function of MPI answers with.
const NUMBER: i64 = 4;

impl<'a> Walk<'_, 'a> {
    /// What a pointer that is no object of its function points to: input, if all that it may be are arguments of the
    /// program or its environment; otherwise anything.
    pub(super) fn behind(&mut self, pointer: State) -> (Origin, Option<Link>) {
        if let Some(known) = self.behind.get(&pointer) {
            return known.clone();
        }
        if self.depth >= NESTED {
            return (Origin::Unknown, None);
        }
        let mut walk = Walk {
            stacks: std::mem::take(&mut self.stacks),
            known_stacks: std::mem::take(&mut self.known_stacks),
            behind: std::mem::take(&mut self.behind),
            depth: self.depth + 1,
            data: true,
            ..Walk::new(self.program)
        };
        walk.go(pointer, None);
        walk.run();
        let input = !walk.found.is_empty() && walk.found.iter().all(|f| f.0 == Origin::Input);
        let mut links = walk.found.iter().map(|f| f.1.last());
        let call = links.next().flatten().cloned();
        let same = links.all(|l| l == call.as_ref());
        let origin = match input {
            true => (Origin::Input, call.filter(|_| same)),
            false => (Origin::Unknown, None),
        };
        self.stacks = walk.stacks;
        self.known_stacks = walk.known_stacks;
        self.behind = walk.behind;
        self.behind.insert(pointer, origin.clone());
        origin
    }

    /// What others may have written where a parameter points to.
    pub(super) fn points(
        &mut self,
        step: usize,
        function: FunctionId,
        number: u32,
        at: i64,
        stack: Stack,
        depth: u32,
    ) {
        // What the program is given is nobody's to write.
        if self.is_main(function) {
            return;
        }
        let Some(contexts) = self.contexts(function, stack).filter(|_| depth < PASSED) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        for context in contexts {
            let argument = self.argument(context, number);
            let asked = match argument.map(|a| a.offset) {
                Some(Offset::At(base)) if at != ANY => base.saturating_add(at),
                _ => ANY,
            };
            match argument.map(|a| a.base) {
                Some(Base::None(_)) => {}
                Some(Base::Local(object)) if !self.program.is_shared(context.0, object) => {}
                Some(Base::Parameter(p)) => {
                    self.points(step, context.0, p, asked, context.2, depth + 1);
                }
                Some(Base::Global(symbol)) => self.global(step, (context.0.unit, symbol), asked),
                // The program's arguments are nobody's to write.
                _ => {
                    let pointer = argument
                        .filter(|a| a.base == Base::Elsewhere)
                        .map(|a| State {
                            function: context.0,
                            node: a.value,
                            asked: ANY,
                            stack: context.2,
                        });
                    if pointer.is_none_or(|p| self.behind(p).0 != Origin::Input) {
                        self.end(Origin::Unknown, Some(step), None);
                    }
                }
            }
        }
    }

    /// Whether a parameter may point to a global variable whose address nobody keeps.
    pub(super) fn may_point(
        &self,
        function: FunctionId,
        stack: Stack,
        number: u32,
        global: (u32, u32),
        depth: u32,
    ) -> bool {
        if self.is_main(function) {
            return false;
        }
        let Some(contexts) = self.contexts(function, stack).filter(|_| depth < PASSED) else {
            return true;
        };
        contexts.into_iter().any(
            |context| match self.argument(context, number).map(|a| a.base) {
                Some(Base::None(_) | Base::Local(_) | Base::Elsewhere) => false,
                Some(Base::Global(symbol)) => {
                    self.program.same_global((context.0.unit, symbol), global).0
                }
                Some(Base::Parameter(p)) => {
                    self.may_point(context.0, context.2, p, global, depth + 1)
                }
                None => true,
            },
        )
    }

    /// Whether two parameters may point to the same object.
    pub(super) fn may_alias(
        &self,
        function: FunctionId,
        stack: Stack,
        one: u32,
        other: u32,
        depth: u32,
    ) -> bool {
        use Base::*;
        if self.is_main(function) {
            return false;
        }
        let Some(contexts) = self.contexts(function, stack).filter(|_| depth < PASSED) else {
            return true;
        };
        contexts.into_iter().any(|context| {
            let base = |n| self.argument(context, n).map(|a| a.base);
            let caller = context.0;
            match (base(one), base(other)) {
                (Some(None(_)), _) | (_, Some(None(_))) => false,
                (Some(Local(a)), Some(Local(b))) => a == b,
                (Some(Local(a)), Some(Elsewhere)) | (Some(Elsewhere), Some(Local(a))) => {
                    self.program.is_shared(caller, a)
                }
                (Some(Local(_)), Some(_)) | (Some(_), Some(Local(_))) => false,
                (Some(Global(a)), Some(Global(b))) => {
                    self.program
                        .same_global((caller.unit, a), (caller.unit, b))
                        .0
                }
                (Some(Global(g)), Some(Elsewhere)) | (Some(Elsewhere), Some(Global(g))) => {
                    self.program.escapes(caller.unit, g)
                }
                (Some(Global(g)), Some(Parameter(p))) | (Some(Parameter(p)), Some(Global(g))) => {
                    self.program.escapes(caller.unit, g)
                        || self.may_point(caller, context.2, p, (caller.unit, g), depth + 1)
                }
                (Some(Parameter(a)), Some(Parameter(b))) => {
                    a == b || self.may_alias(caller, context.2, a, b, depth + 1)
                }
                _ => true,
            }
        })
    }

    /// What a call shows to others, of memory that it was given, before it is done.
    pub(super) fn inner(&mut self, step: usize, node: &Node, asked: i64) {
        let State {
            function, stack, ..
        } = self.steps[step].state;
        let Some((callee, Some(left))) = self.left(function, node) else {
            return;
        };
        let Some(stack) = self.enter(function, node.of, stack) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        let state = State {
            function: callee,
            node: left.between,
            asked: within(node.offset, asked),
            stack,
        };
        self.go(state, Some(step));
    }

    /// The function that a node's call enters, and what it leaves of the node's argument; `None` where it has no record.
    pub(super) fn left(
        &self,
        function: FunctionId,
        node: &Node,
    ) -> Option<(FunctionId, Option<&'a Left>)> {
        let site = self.program.function(function)?;
        let site = site.calls.get(node.of as usize)?;
        let callee = self.program.callee(function, site)?;
        let argument = u32::try_from(node.more).ok()?;
        let outs = &self.program.function(callee)?.outs;
        Some((callee, outs.iter().find(|o| o.parameter == argument)))
    }

    pub(super) fn global(&mut self, step: usize, (unit, symbol): (u32, u32), asked: i64) {
        let State {
            function, stack, ..
        } = self.steps[step].state;
        // What the system's library takes from the program's arguments.
        if meaning::is_of_arguments(self.program.string(unit, symbol)) {
            return self.end(Origin::Input, Some(step), None);
        }
        // Of code that never runs there is nothing true to say.
        let writers = self.program.writers(unit, symbol);
        let Some(writers) = writers.filter(|_| self.program.is_alive(function)) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        self.end(Origin::Constant, Some(step), None);
        for &(writer, node) in writers {
            let state = State {
                function: writer,
                node,
                asked,
                stack: 0,
            };
            self.go(state, Some(step));
            if (writer != function || stack > 0) && !self.data {
                self.guards(writer, step);
            }
        }
    }

    /// What was in memory before a call that leaves it as it is. What decides whether it is called may also decide whether
    /// something was written before: whether that is so is not known.
    fn passed_over(&mut self, step: usize, before: Option<u32>, why: &[u32]) {
        before.into_iter().for_each(|b| self.on(b, step));
        if !self.data && why.iter().any(|w| *w != 0) {
            self.end(Origin::Unknown, Some(step), None);
        }
    }

    /// What a call leaves in a global variable that it is not given. A function that writes it was certainly called
    /// there, so what decides whether others call it does not matter.
    pub(super) fn after(&mut self, step: usize, node: &Node, asked: i64) {
        let State {
            function, stack, ..
        } = self.steps[step].state;
        let global = (function.unit, u32::try_from(node.more).unwrap_or(0));
        let at = asked_for(node.offset, asked);
        let site = self.program.function(function);
        let site = site.and_then(|f| f.calls.get(node.of as usize));
        if site.is_some_and(|call| self.program.is_quiet(function, call)) {
            let before = node.operands.first();
            return before.into_iter().for_each(|b| self.on(*b, step));
        }
        let entered = self.entered(function, stack, node.of, global);
        let (Some(callee), [before, why @ ..]) = (entered, &node.operands[..]) else {
            return self.global(step, global, at);
        };
        if !self.program.may_write(callee, global) {
            // Whether it is called does not matter, but it may be together with what was written before.
            return match why.iter().all(|w| *w == 0) {
                true => self.on(*before, step),
                false => self.global(step, global, at),
            };
        }
        let state = self.program.written_state(callee, global);
        let inside = state.and_then(|_| self.enter(function, node.of, stack));
        let (Some(node), Some(stack)) = (state, inside) else {
            return self.global(step, global, at);
        };
        let state = State {
            function: callee,
            node,
            asked: at,
            stack,
        };
        self.go(state, Some(step));
        let why = if self.data { &[] } else { why };
        why.iter().for_each(|w| self.on(*w, step));
    }

    /// The function that a call enters, if all that it may do to a global variable is in records.
    fn entered(
        &self,
        function: FunctionId,
        stack: Stack,
        call: u32,
        global: (u32, u32),
    ) -> Option<FunctionId> {
        self.program.writers(global.0, global.1)?;
        // The plugin passes over calls of MPI.
        if self.program.may_be_written_by_mpi(global) {
            return None;
        }
        let call = self.program.function(function)?.calls.get(call as usize)?;
        let callee = self.program.callee(function, call)?;
        let may_be_given = call.arguments.iter().any(|a| match a.base {
            Base::Parameter(p) => self.may_point(function, stack, p, global, 0),
            _ => false,
        });
        (!may_be_given).then_some(callee)
    }

    /// What decides whether a function is called at all, and those that call it.
    pub(super) fn guards(&mut self, function: FunctionId, step: usize) {
        let mut open = vec![function];
        while let Some(function) = open.pop() {
            if !self.guarded.insert(function) {
                continue;
            }
            // What decides whether it is called through a pointer is not known.
            if !self.is_main(function) && self.program.has_unseen_callers(function) {
                let state = State {
                    function,
                    node: NOWHERE,
                    asked: ANY,
                    stack: 0,
                };
                self.later.push((state, step));
            }
            for &(caller, call) in self.program.callers(function) {
                open.push(caller);
                let Some(of) = self.program.function(caller) else {
                    continue;
                };
                let vertex = of.calls.get(call as usize).map(|c| c.vertex);
                for v in of.around(vertex).filter(|v| v.kind == Kind::Branch) {
                    for &node in &v.conditions {
                        let state = State {
                            function: caller,
                            node,
                            asked: ANY,
                            stack: 0,
                        };
                        self.later.push((state, step));
                    }
                }
            }
        }
    }

    /// What a call left in memory that it was given.
    pub(super) fn out(&mut self, step: usize, node: &Node, asked: i64) {
        let State {
            function, stack, ..
        } = self.steps[step].state;
        let site = self.program.function(function);
        let Some(site) = site.and_then(|f| f.calls.get(node.of as usize)) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        let (before, why) = match &node.operands[..] {
            [before, why @ ..] => (Some(*before), why),
            [] => (None, &[][..]),
        };
        let at = within(node.offset, asked);
        // Nobody writes before what he was given.
        if at != ANY && at < 0 {
            return self.passed_over(step, before, why);
        }
        if let Some(callee) = self.program.callee(function, site) {
            let argument = u32::try_from(node.more).unwrap_or(u32::MAX);
            let Some(of) = self.program.function(callee) else {
                return;
            };
            if self.program.keeps(function, site, argument) {
                return self.end(Origin::Unknown, Some(step), None);
            }
            let Some(left) = of.outs.iter().find(|o| o.parameter == argument) else {
                // It is only read there.
                return self.passed_over(step, before, why);
            };
            let Some(stack) = self.enter(function, node.of, stack) else {
                return self.end(Origin::Unknown, Some(step), None);
            };
            let state = State {
                function: callee,
                node: left.after,
                asked: at,
                stack,
            };
            self.go(state, Some(step));
            // Where it is known which byte is asked for, the walk comes back to what was there before by itself.
            if at == ANY {
                before.into_iter().for_each(|b| self.on(b, step));
            }
            let why = if self.data { &[] } else { why };
            return why.iter().for_each(|w| self.on(*w, step));
        }
        let symbol = self.program.string(function.unit, site.callee);
        let meaning = match meaning::argument(symbol, node.more as usize) {
            // A single number is written; of a buffer it is not known how much.
            Meaning::New(_) if at >= NUMBER && meaning::is_number(symbol) => Meaning::Untouched,
            Meaning::New(origin) if at != 0 => Meaning::Partly(origin),
            other => other,
        };
        let link = self.call_link(function, node.of);
        // Ranks of several communicators have several sizes and results, and each reads at its own place of a file.
        if let Meaning::New(origin) | Meaning::Partly(origin) = meaning {
            for position in meaning::also(symbol, origin) {
                if let Some(argument) = site.arguments.get(position) {
                    self.made_of(step, argument, true);
                }
            }
        }
        match meaning {
            Meaning::New(origin) => self.end(origin, Some(step), link),
            Meaning::Partly(origin) => {
                self.end(origin, Some(step), link);
                before.into_iter().for_each(|b| self.on(b, step));
            }
            Meaning::OfArguments => {
                for (i, argument) in site.arguments.iter().enumerate() {
                    if meaning::is_input(symbol, i) {
                        self.made_of(step, argument, meaning::is_handle_position(symbol, i));
                    }
                }
                if meaning::may_leave(symbol, at != 0) {
                    before.into_iter().for_each(|b| self.on(b, step));
                }
            }
            Meaning::Untouched => {
                return self.passed_over(step, before, why);
            }
        }
        let why = if self.data { &[] } else { why };
        why.iter().for_each(|w| self.on(*w, step));
    }
}

/// The byte of an object that a node is about.
pub(super) fn asked_for(offset: Offset, asked: i64) -> i64 {
    match offset {
        Offset::At(at) => at,
        Offset::Asked(_) => asked,
        Offset::Any => ANY,
    }
}

/// The byte that is asked for, counted from an argument's pointer.
fn within(offset: Offset, asked: i64) -> i64 {
    match offset {
        Offset::At(at) => at,
        Offset::Asked(base) if asked != ANY => asked.saturating_sub(base),
        Offset::Asked(_) | Offset::Any => ANY,
    }
}
