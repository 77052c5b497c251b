//! Follows a value backward to what it comes from, through functions, calls and memory.
//!
//! A breadth-first walk over the graph of dependences. A call is entered with a note of where it was, so that a
//! parameter is what *this* call gave; without one it is what any call gives. Whoever may have written unseen makes it
//! unknown: an origin that is not named is worth more than a wrong one.

use super::meaning::{self, Meaning};
use super::program::{FunctionId, Program};
use super::record::{Base, Kind, Node, Offset, Op};
use headwater_model::dependence::{Link, Origin, Source};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// States that one walk may visit.
const MOST: usize = 4_000;
/// Calls that may be open at once.
const DEEPEST: u32 = 12;
/// Walks within walks.
const NESTED: u32 = 2;
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
}

/// The origins of a node of a function.
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
        if !sources.iter().any(|s| s.origin == origin) {
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
                let pointer = node.operands.first().copied();
                let origin = pointer.map_or(Origin::Unknown, |node| {
                    self.behind(State {
                        node,
                        ..self.steps[step].state
                    })
                });
                self.end(origin, Some(step), None);
            }
            Op::Mix => node.operands.iter().for_each(|o| self.on(*o, step)),
            Op::Param => self.parameter(step, node.of, None),
            Op::Entry => {
                let at = match node.offset {
                    Offset::At(at) => at,
                    Offset::Asked(_) => asked,
                    Offset::Any => ANY,
                };
                self.parameter(step, node.of, Some(at));
            }
            Op::Global => self.global(step, node, asked),
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
                    rest.iter().skip(1).for_each(|o| self.on(*o, step));
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
        let symbol = self
            .program
            .function(function)
            .map_or("", |f| self.program.string(function.unit, f.symbol));
        if symbol == "main" {
            return self.end(Origin::Input, Some(step), None);
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
            (Some(at), Base::Known) => {
                let asked = match argument.offset {
                    Offset::At(base) if at != ANY => base.saturating_add(at),
                    _ => ANY,
                };
                self.go(state(argument.content, asked), Some(step));
            }
            (Some(_), Base::None) => self.end(Origin::Constant, Some(step), None),
            (Some(_), Base::Elsewhere) => {
                let pointer = state(argument.value, ANY);
                let origin = self.behind(pointer);
                self.end(origin, Some(step), None);
            }
        }
    }

    /// What a pointer that is no object of its function points to: input, if it is an argument of the program; otherwise
    /// anything.
    fn behind(&self, pointer: State) -> Origin {
        let mut walk = Walk {
            stacks: self.stacks.clone(),
            depth: self.depth + 1,
            ..Walk::new(self.program)
        };
        if walk.depth > NESTED {
            return Origin::Unknown;
        }
        walk.go(pointer, None);
        walk.run();
        let mut found = walk.found.iter().map(|(origin, _)| *origin);
        let input = found.clone().any(|o| o == Origin::Input);
        match input && found.all(|o| matches!(o, Origin::Input | Origin::Constant)) {
            true => Origin::Input,
            false => Origin::Unknown,
        }
    }

    fn global(&mut self, step: usize, node: &Node, asked: i64) {
        let State { function, .. } = self.steps[step].state;
        let Some(writers) = self.program.writers(function.unit, node.of) else {
            return self.end(Origin::Unknown, Some(step), None);
        };
        let asked = match node.offset {
            Offset::At(at) => at,
            Offset::Asked(_) => asked,
            Offset::Any => ANY,
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
            if writer != function {
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
                    self.on(argument.value, step);
                    self.on(argument.content, step);
                }
            }
            Meaning::New(origin) | Meaning::Partly(origin) => {
                let link = self.call_link(function, call);
                self.end(origin, Some(step), link);
            }
            Meaning::Untouched => {}
        }
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
        let at = match node.offset {
            Offset::At(at) => at,
            Offset::Asked(base) if asked != ANY => asked.saturating_sub(base),
            Offset::Asked(_) | Offset::Any => ANY,
        };
        // Nobody writes before what he was given.
        if at != ANY && at < 0 {
            return before.into_iter().for_each(|b| self.on(b, step));
        }
        if let Some(callee) = self.program.callee(function, site) {
            let argument = u32::try_from(node.more).unwrap_or(u32::MAX);
            let Some(of) = self.program.function(callee) else {
                return;
            };
            if of.kept.contains(&argument) {
                return self.end(Origin::Unknown, Some(step), None);
            }
            let Some((_, left)) = of.outs.iter().find(|o| o.0 == argument) else {
                // It is only read there.
                return before.into_iter().for_each(|b| self.on(b, step));
            };
            let Some(stack) = self.enter(function, node.of, stack) else {
                return self.end(Origin::Unknown, Some(step), None);
            };
            let state = State {
                function: callee,
                node: *left,
                asked: at,
                stack,
            };
            self.go(state, Some(step));
            // Where it is known which byte is asked for, the walk comes back to what was there before by itself.
            if at == ANY {
                before.into_iter().for_each(|b| self.on(b, step));
            }
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
        match meaning {
            Meaning::New(origin) => self.end(origin, Some(step), link),
            Meaning::Partly(origin) => {
                self.end(origin, Some(step), link);
                before.into_iter().for_each(|b| self.on(b, step));
            }
            Meaning::Untouched | Meaning::OfArguments => {
                return before.into_iter().for_each(|b| self.on(b, step));
            }
        }
        why.iter().for_each(|w| self.on(*w, step));
    }
}
