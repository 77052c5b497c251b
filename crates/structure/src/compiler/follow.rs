//! Follows a value backward to what it comes from, through functions, calls and memory.
//!
//! A breadth-first walk over the graph of dependences. A call is entered with a note of where it was, so that a
//! parameter is what *this* call gave; without one it is what any call gives. Whoever may have written unseen makes it
//! unknown: an origin that is not named is worth more than a wrong one.

use super::meaning::{self, Meaning};
use super::program::{FunctionId, Program};
use super::record::{Argument, Base, Kind, Left, Node, Offset, Op};
use headwater_model::dependence::{Link, Origin, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// States that one walk may visit.
const MOST: usize = 4_000;
/// Calls that may be open at once.
const DEEPEST: u32 = 12;
/// Walks within walks.
const NESTED: u32 = 2;
/// Calls that a parameter's object may have been passed on by.
const PASSED: u32 = 5;
/// Links of a chain.
const LONGEST: usize = 12;
/// Bytes of a number that a function of MPI answers with.
const NUMBER: i64 = 4;
/// No byte asked for: any.
const ANY: i64 = i64::MIN;

/// Numbers of open calls in [`Walk::stacks`]; 0 is none.
type Stack = u32;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    function: FunctionId,
    node: u32,
    /// The byte that is asked for, of the object at hand.
    asked: i64,
    stack: Stack,
}

struct Step {
    state: State,
    from: Option<usize>,
}

/// One walk.
struct Walk<'p, 'a> {
    program: &'p Program<'a>,
    steps: Vec<Step>,
    open: VecDeque<usize>,
    seen: FxHashSet<State>,
    /// (call, its number, the one around it, depth)
    stacks: Vec<(FunctionId, u32, Stack, u32)>,
    known_stacks: FxHashMap<(FunctionId, u32, Stack), Stack>,
    guarded: FxHashSet<FunctionId>,
    found: Vec<(Origin, Vec<Link>)>,
    /// Walks that this one is part of.
    depth: u32,
    /// Whether it follows values alone, and not what decides which of them it is.
    data: bool,
    /// What walks within this one found.
    behind: FxHashMap<State, (Origin, Option<Link>)>,
}

/// A call that leads to a function: the caller, the call's number, and the calls around it.
type Context = (FunctionId, u32, Stack);

/// The origins of what an argument of a call gives.
pub fn given(program: &Program<'_>, function: FunctionId, argument: &Argument) -> Vec<Source> {
    match argument.base {
        Base::None(_) => origins(program, function, &[argument.value]),
        Base::Elsewhere => Vec::new(),
        _ => origins(program, function, &[argument.content]),
    }
}

/// The origins of a node of a function: those of each call that gives one.
pub fn origins(program: &Program<'_>, function: FunctionId, nodes: &[u32]) -> Vec<Source> {
    let mut walk = Walk::new(program);
    for &node in nodes {
        let state = State {
            function,
            node,
            asked: ANY,
            stack: 0,
        };
        walk.go(state, None);
    }
    walk.run();
    let mut sources: Vec<Source> = Vec::new();
    for (origin, chain) in walk.found {
        let call = chain.last().map(|l| l.name.clone());
        let same =
            |s: &Source| s.origin == origin && s.chain.last().map(|l| &l.name) == call.as_ref();
        let first = |s: &Source| {
            s.origin == origin
                && origin != Origin::Message
                && origin != Origin::Reduction
                && origin != Origin::Input
        };
        if !sources.iter().any(|s| same(s) || first(s)) {
            sources.push(Source { origin, chain });
        }
    }
    sources.sort_by_key(|s| s.origin);
    if sources.len() > 1 {
        sources.retain(|s| s.origin != Origin::Constant);
    }
    if sources.is_empty() {
        sources.push(Source {
            origin: Origin::Constant,
            chain: Vec::new(),
        });
    }
    sources
}

impl<'p, 'a> Walk<'p, 'a> {
    fn new(program: &'p Program<'a>) -> Self {
        let nowhere = FunctionId { unit: 0, index: 0 };
        Self {
            program,
            steps: Vec::new(),
            open: VecDeque::new(),
            seen: FxHashSet::default(),
            stacks: vec![(nowhere, 0, 0, 0)],
            known_stacks: FxHashMap::default(),
            guarded: FxHashSet::default(),
            found: Vec::new(),
            depth: 0,
            data: false,
            behind: FxHashMap::default(),
        }
    }

    fn run(&mut self) {
        while let Some(step) = self.open.pop_front() {
            let left = self.program.budget.get();
            if self.steps.len() > MOST >> (4 * self.depth) || left == 0 {
                self.end(Origin::Unknown, None, None);
                break;
            }
            self.program.budget.set(left - 1);
            self.visit(step);
        }
    }

    fn go(&mut self, state: State, from: Option<usize>) {
        if self.seen.insert(state) {
            self.steps.push(Step { state, from });
            self.open.push_back(self.steps.len() - 1);
        }
    }

    /// Goes on to a node of the same function and with the same question.
    fn on(&mut self, node: u32, from: usize) {
        let state = State {
            node,
            ..self.steps[from].state
        };
        self.go(state, Some(from));
    }

    /// An origin, with the variables on the way, and the call that gives it.
    fn end(&mut self, origin: Origin, from: Option<usize>, call: Option<Link>) {
        let mut chain: Vec<Link> = call.into_iter().collect();
        let mut at = from;
        while let Some(step) = at.and_then(|i| self.steps.get(i)) {
            let State { function, node, .. } = step.state;
            if let Some(link) = self.link(function, node)
                && chain.last().is_none_or(|last| last.name != link.name)
            {
                chain.push(link);
            }
            at = step.from;
        }
        chain.reverse();
        if chain.len() > LONGEST {
            // Both ends say most.
            chain.drain(LONGEST / 2..chain.len() - LONGEST / 2);
        }
        self.found.push((origin, chain));
    }

    fn link(&self, function: FunctionId, node: u32) -> Option<Link> {
        let node = self.program.node(function, node)?;
        let name = self.program.string(function.unit, node.name);
        (!name.is_empty()).then(|| self.named(function, name, node))
    }

    fn named(&self, function: FunctionId, name: &str, node: &Node) -> Link {
        let file = self.program.string(function.unit, node.at.file);
        Link {
            name: name.to_string(),
            file: (!file.is_empty()).then(|| file.to_string()),
            line: node.at.line,
        }
    }

    /// The call of a node as a link of a chain.
    fn call_link(&self, function: FunctionId, call: u32) -> Option<Link> {
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

    fn enter(&mut self, function: FunctionId, call: u32, around: Stack) -> Option<Stack> {
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

    fn visit(&mut self, step: usize) {
        let State {
            function,
            asked,
            node: number,
            ..
        } = self.steps[step].state;
        let Some(node) = self.program.node(function, number) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        match node.op {
            Op::Const => {
                if number != 0 || self.steps[step].from.is_none() {
                    self.end(Origin::Constant, Some(step), None);
                }
            }
            Op::Unknown => {
                let state = self.steps[step].state;
                let pointer = node.operands.first().copied();
                let (origin, link) = pointer.map_or((Origin::Unknown, None), |node| {
                    self.behind(State { node, ..state })
                });
                self.end(origin, Some(step), link);
            }
            Op::Mix => {
                let all = node.operands.len();
                let many = match (self.data, node.data as usize) {
                    (true, data) if data > 0 => data.min(all),
                    _ => all,
                };
                node.operands
                    .iter()
                    .take(many)
                    .for_each(|o| self.on(*o, step));
            }
            Op::Kept => {
                let call = self
                    .program
                    .function(function)
                    .and_then(|f| f.calls.get(node.of as usize));
                let argument = u32::try_from(node.more).unwrap_or(u32::MAX);
                if call.is_none_or(|c| self.program.keeps(function, c, argument)) {
                    self.end(Origin::Unknown, Some(step), None);
                }
            }
            Op::Open => {
                if self.program.escapes(function.unit, node.of) {
                    self.end(Origin::Unknown, Some(step), None);
                }
            }
            Op::Points => {
                let at = asked_for(node.offset, asked);
                self.points(step, function, node.of, at, self.steps[step].state.stack, 0);
            }
            Op::MayPoint => {
                let symbol = u32::try_from(node.more).unwrap_or(0);
                let global = (function.unit, symbol);
                let stack = self.steps[step].state.stack;
                if self.may_point(function, stack, node.of, global, 0) {
                    self.end(Origin::Unknown, Some(step), None);
                }
            }
            Op::MayAlias => {
                let other = u32::try_from(node.more).unwrap_or(u32::MAX);
                let stack = self.steps[step].state.stack;
                if self.may_alias(function, stack, node.of, other, 0) {
                    self.end(Origin::Unknown, Some(step), None);
                }
            }
            Op::Inner => self.inner(step, node, asked),
            Op::Param => self.parameter(step, node.of, None),
            Op::Entry => {
                let at = asked_for(node.offset, asked);
                self.parameter(step, node.of, Some(at));
            }
            Op::Global => {
                let at = asked_for(node.offset, asked);
                self.global(step, (function.unit, node.of), at);
            }
            Op::Result => self.result(step, node.of),
            Op::Out => self.out(step, node, asked),
            Op::Store => {
                let (value, rest) = match &node.operands[..] {
                    [value, rest @ ..] => (*value, rest),
                    [] => return self.end(Origin::Unknown, Some(step), None),
                };
                let covers = match (node.offset, asked) {
                    (Offset::At(at), asked) if asked != ANY => {
                        let end = at.saturating_add(node.more.min(1 << 40) as i64);
                        Some((at..end).contains(&asked))
                    }
                    _ => None,
                };
                if covers != Some(false) {
                    self.on(value, step);
                    if !self.data {
                        rest.iter().skip(1).for_each(|o| self.on(*o, step));
                    }
                }
                if covers != Some(true)
                    && let Some(before) = rest.first()
                {
                    self.on(*before, step);
                }
            }
        }
    }

    /// A parameter's value, or with `at` the memory that it points to.
    fn parameter(&mut self, step: usize, number: u32, at: Option<i64>) {
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
    fn given(
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

    /// What a pointer that is no object of its function points to: input, if all that it may be are arguments of the
    /// program or its environment; otherwise anything.
    fn behind(&mut self, pointer: State) -> (Origin, Option<Link>) {
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

    fn is_main(&self, function: FunctionId) -> bool {
        let of = self.program.function(function);
        of.is_some_and(|f| self.program.string(function.unit, f.symbol) == "main")
    }

    /// The calls that a function was entered by; `None` where not all are known.
    fn contexts(&self, function: FunctionId, stack: Stack) -> Option<Vec<Context>> {
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

    fn argument(&self, (caller, call, _): Context, number: u32) -> Option<&'a Argument> {
        let call = self.program.function(caller)?.calls.get(call as usize)?;
        call.arguments.get(number as usize)
    }

    /// What others may have written where a parameter points to.
    fn points(
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
    fn may_point(
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
    fn may_alias(
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
    fn inner(&mut self, step: usize, node: &Node, asked: i64) {
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
    fn left(&self, function: FunctionId, node: &Node) -> Option<(FunctionId, Option<&'a Left>)> {
        let site = self.program.function(function)?;
        let site = site.calls.get(node.of as usize)?;
        let callee = self.program.callee(function, site)?;
        let argument = u32::try_from(node.more).ok()?;
        let outs = &self.program.function(callee)?.outs;
        Some((callee, outs.iter().find(|o| o.parameter == argument)))
    }

    fn global(&mut self, step: usize, (unit, symbol): (u32, u32), asked: i64) {
        let State { function, .. } = self.steps[step].state;
        // What the system's library takes from the program's arguments.
        if meaning::is_of_arguments(self.program.string(unit, symbol)) {
            return self.end(Origin::Input, Some(step), None);
        }
        let Some(writers) = self.program.writers(unit, symbol) else {
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
            if writer != function && !self.data {
                self.guards(writer, step);
            }
        }
    }

    /// What decides whether a function is called at all, and those that call it.
    fn guards(&mut self, function: FunctionId, step: usize) {
        let mut open = vec![function];
        while let Some(function) = open.pop() {
            if !self.guarded.insert(function) {
                continue;
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
                        self.go(state, Some(step));
                    }
                }
            }
        }
    }

    fn result(&mut self, step: usize, call: u32) {
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
    fn made_of(&mut self, step: usize, argument: &Argument, handle: bool) {
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

    fn symbol(&self, step: usize, number: u32) -> &'a str {
        let unit = self.steps[step].state.function.unit;
        self.program.string(unit, number)
    }

    /// `main` as a link: the end of the chain of what comes from the arguments of the program.
    fn call_site_of_main(&self, function: FunctionId) -> Option<Link> {
        let of = self.program.function(function)?;
        let file = of.vertices.first().map_or(0, |v| v.at.file);
        let file = self.program.string(function.unit, file);
        Some(Link {
            name: "main".to_string(),
            file: (!file.is_empty()).then(|| file.to_string()),
            line: of.line,
        })
    }

    /// What a call left in memory that it was given.
    fn out(&mut self, step: usize, node: &Node, asked: i64) {
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
            return before.into_iter().for_each(|b| self.on(b, step));
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
                return before.into_iter().for_each(|b| self.on(b, step));
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
            }
            Meaning::Untouched => {
                return before.into_iter().for_each(|b| self.on(b, step));
            }
        }
        let why = if self.data { &[] } else { why };
        why.iter().for_each(|w| self.on(*w, step));
    }
}

/// The byte of an object that a node is about.
fn asked_for(offset: Offset, asked: i64) -> i64 {
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
