//! Follows a value backward to what it comes from, through functions, calls and memory.
//!
//! A breadth-first walk over the graph of dependences. A call is entered with a note of where it was, so that a
//! parameter is what *this* call gave; without one it is what any call gives. Whoever may have written unseen makes it
//! unknown: an origin that is not named is worth more than a wrong one.

mod calls;
mod memory;

use super::program::{FunctionId, Program};
use super::record::{Argument, Base, Node, Offset, Op};
use headwater_model::dependence::{Link, Origin, Source};
use memory::asked_for;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// States that one walk may visit.
const MOST: usize = 4_000;
/// States that a walk may still visit when a part of the answer is unknown: what it finds then is worth less, and large
/// programs have many such walks.
const AFTER_UNKNOWN: usize = 400;
/// Links of a chain.
const LONGEST: usize = 12;
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
    /// What decides whether a variable is written at all, and the step that asks for it.
    later: Vec<(State, usize)>,
    found: Vec<(Origin, Vec<Link>)>,
    /// States that it may visit.
    most: usize,
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
            later: Vec::new(),
            found: Vec::new(),
            most: MOST,
            depth: 0,
            data: false,
            behind: FxHashMap::default(),
        }
    }

    /// Follows all values, then what decides whether they are written. Whether that is so where the value is read is not
    /// known: once a part of it is unknown, no more is said of it.
    fn run(&mut self) {
        self.visit_open();
        let values = self.found.len();
        while !self.later.is_empty() {
            for (state, step) in std::mem::take(&mut self.later) {
                self.go(state, Some(step));
            }
            self.visit_open();
        }
        let mut decides = self.found.split_off(values);
        if decides.iter().any(|f| f.0 == Origin::Unknown) {
            decides.retain(|f| f.0 == Origin::Unknown);
        }
        self.found.append(&mut decides);
    }

    fn visit_open(&mut self) {
        while let Some(step) = self.open.pop_front() {
            let left = self.program.budget.get();
            if self.steps.len() > self.most.min(MOST >> (4 * self.depth)) || left == 0 {
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
        if origin == Origin::Unknown {
            self.most = self.most.min(self.steps.len() + AFTER_UNKNOWN);
        }
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
            Op::After => self.after(step, node, asked),
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
}
