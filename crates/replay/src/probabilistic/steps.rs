//! The calls that a rank makes in a probabilistic replay: all but receives, which follow from the sends of the others.

use crate::resolve::{Step, Value};
use crate::standard::standard;
use headwater_mpi_abi::constants::{NULL, PROC_NULL};
use headwater_mpi_abi::{Class, FUNCTIONS, FuncId, Kind, Mode, fields};
use rustc_hash::FxHashSet;
use std::rc::Rc;

/// What becomes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The call is made.
    pub is_made: bool,
    /// The program received something here.
    pub receives: bool,
}

/// Changes the steps of one rank.
#[derive(Debug, Default)]
pub struct Changes {
    /// Requests of receives, which nothing makes: those of one message, and persistent ones.
    left_out: FxHashSet<i64>,
    persistent: FxHashSet<i64>,
}

impl Changes {
    /// Changes a step in place.
    pub fn change(&mut self, step: &mut Step) -> Change {
        let Some(function) = FUNCTIONS.get(usize::from(step.function)) else {
            return Change {
                is_made: true,
                receives: false,
            };
        };
        let all = fields(step.function);
        let at = |kind: Kind| all.iter().position(|f| f.kind == kind);
        let number = |step: &Step, kind: Kind| {
            let value = at(kind).and_then(|at| step.values.get(at));
            value.map(Value::number)
        };
        let (mut is_made, mut receives) = (true, false);
        match function.class {
            Class::Recv | Class::Probe => {
                is_made = false;
                receives = function.mode == Mode::Blocking;
                if let Some(request) = number(step, Kind::NewRequest) {
                    match function.mode {
                        Mode::Persistent => self.persistent.insert(request),
                        _ => self.left_out.insert(request),
                    };
                }
            }
            Class::Send => {
                if let Some(request) = number(step, Kind::NewRequest) {
                    self.left_out.remove(&request);
                    self.persistent.remove(&request);
                }
                step.function = standard(FuncId(step.function)).map_or(step.function, |id| id.0);
            }
            Class::SendRecv => {
                receives = function.mode == Mode::Blocking;
                // The second partner is the source.
                let source = all.iter().rposition(|f| f.kind == Kind::Peer);
                if let Some(value) = source.and_then(|at| step.values.get_mut(at)) {
                    *value = Value::Number(PROC_NULL);
                }
                if let Some(request) = number(step, Kind::NewRequest) {
                    self.left_out.remove(&request);
                }
            }
            Class::Start => is_made = self.start(step, at(Kind::Request), at(Kind::Requests)),
            Class::Wait | Class::Test => {
                for value in [at(Kind::Request), at(Kind::Requests)]
                    .into_iter()
                    .flatten()
                {
                    if let Some(value) = step.values.get_mut(value) {
                        receives |= self.without_receives(value);
                    }
                }
            }
            Class::Cancel | Class::RequestFree => {
                let request = number(step, Kind::Request).unwrap_or(NULL);
                let is_receive =
                    self.left_out.contains(&request) || self.persistent.contains(&request);
                is_made = !is_receive && function.class != Class::Cancel;
                if function.class == Class::RequestFree {
                    self.left_out.remove(&request);
                    self.persistent.remove(&request);
                }
            }
            _ => {
                if let Some(request) = number(step, Kind::NewRequest) {
                    self.left_out.remove(&request);
                }
                // As for the status of a request.
                if let Some(value) = at(Kind::Request).and_then(|at| step.values.get_mut(at)) {
                    self.without_receives(value);
                }
            }
        }
        Change { is_made, receives }
    }

    /// Starts only sends. Returns whether there are any.
    fn start(&self, step: &mut Step, one: Option<usize>, list: Option<usize>) -> bool {
        let is_receive = |request: &i64| self.persistent.contains(request);
        let kept: Option<Rc<[i64]>> = list
            .and_then(|at| step.values.get(at))
            .and_then(Value::list)
            .map(|all| all.iter().filter(|r| !is_receive(r)).copied().collect());
        let Some(kept) = kept else {
            let request = one.and_then(|at| step.values.get(at)).map(Value::number);
            return !request.is_some_and(|request| is_receive(&request));
        };
        let is_made = !kept.is_empty();
        let all = fields(step.function).iter().zip(&mut step.values);
        for (field, value) in all {
            match field.kind {
                Kind::Requests => *value = Value::List(kept.clone()),
                Kind::Int | Kind::Count => *value = Value::Number(kept.len() as i64),
                _ => {}
            }
        }
        is_made
    }

    /// Replaces requests of receives by null ones. Returns whether there are any.
    fn without_receives(&mut self, value: &mut Value) -> bool {
        let mut found = false;
        let mut without = |request: i64| {
            let one = self.left_out.remove(&request);
            let is_receive = one || self.persistent.contains(&request);
            found |= is_receive;
            if is_receive { NULL } else { request }
        };
        match value {
            Value::Number(request) => *request = without(*request),
            Value::List(all) => {
                let kept: Rc<[i64]> = all.iter().map(|request| without(*request)).collect();
                *all = kept;
            }
            Value::Text(_) => {}
        }
        found
    }
}
