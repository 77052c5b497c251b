//! Signatures, written where they are used first: functions once, call paths as a prefix tree.

use super::Error;
use super::body::Body;
use super::codec::{Coder, Field, NOTHING};
use super::names::NAMES;
use crate::trace::{Frame, Kind, Signature, Trace};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Signatures in the order of their first use.
#[derive(Default)]
pub(super) struct Table {
    all: Vec<Entry>,
    numbers: FxHashMap<u64, usize>,
    functions: Vec<(String, Vec<Kind>)>,
    /// What the writer has to write, by identity.
    given: BTreeMap<u64, Signature>,
}

struct Entry {
    identity: u64,
    /// `None` if the trace has no such signature.
    signature: Option<Signature>,
    function: u32,
}

/// Frames of call paths by their callers; node 0 is above the outermost frames.
pub(super) struct Paths {
    nodes: Vec<PathNode>,
    last_depth: usize,
    last_module: usize,
    offsets: FxHashMap<u64, u64>,
}

struct PathNode {
    frame: Frame,
    /// The one that was used last is at the end.
    children: Vec<usize>,
}

impl Default for Paths {
    fn default() -> Self {
        let frame = Frame {
            module: 0,
            offset: 0,
        };
        Self {
            nodes: vec![PathNode {
                frame,
                children: Vec::new(),
            }],
            last_depth: 0,
            last_module: 0,
            offsets: FxHashMap::default(),
        }
    }
}

impl Table {
    /// The number of the function of an entry, and what its values mean.
    pub(super) fn kinds(&self, entry: usize) -> (u32, Vec<Kind>) {
        match self.all.get(entry) {
            Some(Entry {
                signature: Some(signature),
                function,
                ..
            }) => (*function, signature.kinds.clone()),
            _ => (u32::MAX - 1, Vec::new()),
        }
    }

    /// The number of the entry of an identity.
    pub(super) fn number(&self, identity: u64) -> Option<usize> {
        self.numbers.get(&identity).copied()
    }

    /// All that the trace has.
    pub(super) fn known(&mut self) -> BTreeMap<u64, Signature> {
        let all = std::mem::take(&mut self.all).into_iter();
        all.filter_map(|entry| Some((entry.identity, entry.signature?)))
            .collect()
    }
}

impl<C: Coder> Body<'_, C> {
    /// An identity, and its number in the table.
    pub(super) fn signature(&mut self, given: Option<u64>) -> Result<(u64, usize), Error> {
        let known = self.signatures.all.len();
        let number = given.and_then(|identity| self.signatures.numbers.get(&identity).copied());
        let symbol = number.map_or(0, |number| known - number);
        match self.count(Field::Signature, 0, symbol)? {
            0 => Ok((self.new_signature(given)?, known)),
            distance => {
                let number = (known as u64)
                    .checked_sub(distance)
                    .ok_or(Error::Malformed)? as usize;
                let entry = self.signatures.all.get(number).ok_or(Error::Malformed)?;
                Ok((entry.identity, number))
            }
        }
    }

    fn new_signature(&mut self, given: Option<u64>) -> Result<u64, Error> {
        let one = given.and_then(|identity| self.signatures.given.remove(&identity));
        let is_known = one.is_some();
        let (identity, signature, function) = if self.coder.flag(Field::Known, 0, is_known)? {
            let (function, name, kinds) = self.function(one.as_ref())?;
            self.last_functions = [function + 1, self.last_functions[0]];
            let frames = self.path(one.as_ref().map(|s| s.frames.as_slice()))?;
            let derived = crate::identity::signature_identity(&name, &frames);
            let identity = self.identity(derived, given)?;
            let signature = Signature {
                function: name,
                kinds,
                frames,
            };
            (identity, Some(signature), function)
        } else {
            let identity = self.coder.number(Field::Raw, 0, given.unwrap_or(0))?;
            (identity, None, u32::MAX - 1)
        };
        let number = self.signatures.all.len();
        self.signatures.numbers.entry(identity).or_insert(number);
        self.signatures.all.push(Entry {
            identity,
            signature,
            function,
        });
        Ok(identity)
    }

    fn function(&mut self, given: Option<&Signature>) -> Result<(u32, String, Vec<Kind>), Error> {
        let weight = |name: &str, kinds: &[Kind]| 1 + (name.len() + kinds.len()) as u64 / 32;
        let found = given.and_then(|given| {
            let mut functions = self.signatures.functions.iter();
            let at = functions
                .position(|(name, kinds)| *name == given.function && *kinds == given.kinds)?;
            self.may_repeat(weight(&given.function, &given.kinds))
                .then_some(at)
        });
        self.about_functions();
        let symbol = self.count(Field::Function, 0, found.map_or(0, |at| at + 1))?;
        self.coder.about(NOTHING);
        if symbol > 0 {
            let at = symbol as usize - 1;
            let function = self.signatures.functions.get(at);
            let (name, kinds) = function.cloned().ok_or(Error::Malformed)?;
            self.repeat(weight(&name, &kinds))?;
            return Ok((at as u32, name, kinds));
        }
        let name = given.map(|given| given.function.as_str());
        let usual = name.and_then(|name| NAMES.iter().position(|usual| *usual == name));
        let name = match self.count(Field::Function, 1, usual.map_or(0, |at| at + 1))? {
            0 => {
                let name = self.bytes(0, name.map(str::as_bytes))?;
                String::from_utf8(name).map_err(|_| Error::Malformed)?
            }
            at => {
                let name = NAMES.get(at as usize - 1).ok_or(Error::Malformed)?;
                (*name).to_owned()
            }
        };
        let of = given.map_or(&[][..], |given| &given.kinds);
        let count = self.count(Field::Kinds, 0, of.len())?;
        let mut kinds = Vec::new();
        let mut before = 5;
        for i in 0..count {
            let kind = of.get(i as usize).map_or(0, |kind| *kind as u64);
            let kind = self.coder.number(Field::Kind, before, kind)?;
            before = kind as u32;
            kinds.push(match kind {
                0 => Kind::Plain,
                1 => Kind::Peer,
                2 => Kind::Comm,
                3 => Kind::List,
                4 => Kind::Text,
                _ => return Err(Error::Malformed),
            });
        }
        self.signatures
            .functions
            .push((name.clone(), kinds.clone()));
        Ok((self.signatures.functions.len() as u32 - 1, name, kinds))
    }

    /// What follows may depend on the functions of the last signatures.
    fn about_functions(&mut self) {
        let [last, before] = self.last_functions;
        let both = last.wrapping_mul(1 << 16) | before & 0xffff;
        self.coder.about([last, both, 0, 0]);
    }

    /// A call path: at each frame the end, a new callee, or one that was written before.
    fn path(&mut self, given: Option<&[Frame]>) -> Result<Vec<Frame>, Error> {
        let mut frames: Vec<Frame> = Vec::new();
        let mut at = 0;
        loop {
            let depth = frames.len();
            let next = given.and_then(|given| given.get(depth)).copied();
            let children = self.paths.nodes.get(at).map(|node| &node.children);
            let children = children.ok_or(Error::Malformed)?;
            let child = next.and_then(|frame| {
                let of = |child: &usize| self.paths.nodes.get(*child).map(|node| node.frame);
                children.iter().rposition(|child| of(child) == Some(frame))
            });
            let symbol = match (next, child) {
                (None, _) => 0,
                (_, None) => 1,
                (_, Some(child)) => children.len() - child + 1,
            };
            let like_last = depth.cmp(&self.paths.last_depth) as i8 + 1;
            let context = like_last as u32 * 2 + u32::from(children.is_empty());
            let number_of_children = children.len() as u64;
            let [depths, most] = [depth, self.paths.last_depth].map(|n| n.min(254) as u32 + 1);
            self.coder.about([
                depths,
                depths << 8 | most,
                number_of_children.min(9) as u32 + 1,
                self.last_functions[0] << 2 | like_last as u32,
            ]);
            let symbol = self.count(Field::PathStep, context, symbol)?;
            self.coder.about(NOTHING);
            match symbol {
                0 => {
                    self.paths.last_depth = depth;
                    return Ok(frames);
                }
                1 => {
                    let frame = self.frame(at, next)?;
                    let child = self.paths.nodes.len();
                    self.paths.nodes.push(PathNode {
                        frame,
                        children: Vec::new(),
                    });
                    if let Some(node) = self.paths.nodes.get_mut(at) {
                        node.children.push(child);
                    }
                    frames.push(frame);
                    at = child;
                }
                symbol => {
                    let distance = symbol - 1;
                    let child = number_of_children
                        .checked_sub(distance)
                        .ok_or(Error::Malformed)?;
                    let node = self.paths.nodes.get_mut(at).ok_or(Error::Malformed)?;
                    let child = node.children.remove(child as usize);
                    node.children.push(child);
                    let node = self.paths.nodes.get(child).ok_or(Error::Malformed)?;
                    frames.push(node.frame);
                    at = child;
                }
            }
        }
    }

    fn frame(&mut self, caller: usize, given: Option<Frame>) -> Result<Frame, Error> {
        let module = given.map(|frame| frame.module as i64);
        let number = module.and_then(|module| self.modules.numbers.get(&module).copied());
        let symbol = match number {
            Some(number) if number == self.paths.last_module => 0,
            Some(number) => number + 2,
            None => 1,
        };
        let module = match self.count(Field::Module, u32::from(caller == 0), symbol)? {
            1 => self
                .coder
                .number(Field::Raw, 2, module.unwrap_or(0) as u64)?,
            symbol => {
                let number = match symbol {
                    0 => self.paths.last_module,
                    symbol => symbol as usize - 2,
                };
                self.paths.last_module = number;
                let module = self.modules.all.get(number);
                *module.ok_or(Error::Malformed)? as u64
            }
        };
        let node = self.paths.nodes.get(caller).ok_or(Error::Malformed)?;
        // The call before this one in the same caller is near in the code.
        let sibling = node.children.last().and_then(|child| {
            let frame = self.paths.nodes.get(*child)?.frame;
            (frame.module == module).then_some(frame.offset)
        });
        let last = self.paths.offsets.get(&module).copied();
        let (context, base) = match (sibling, last) {
            (Some(offset), _) => (0, offset),
            (None, Some(offset)) => (1, offset),
            (None, None) => (2, 0),
        };
        let more = given.map_or(0, |frame| frame.offset.wrapping_sub(base) as i64);
        self.about_functions();
        let more = self.coder.signed(Field::Offset, context, more)?;
        self.coder.about(NOTHING);
        let offset = base.wrapping_add(more as u64);
        self.paths.offsets.insert(module, offset);
        Ok(Frame { module, offset })
    }

    /// Says what a writer has to write.
    pub(super) fn give_signatures(&mut self, trace: &Trace) {
        self.signatures.given = trace.signatures.clone();
    }

    /// Signatures that no event has.
    pub(super) fn unused_signatures(&mut self, given: Option<&Trace>) -> Result<(), Error> {
        let left: Vec<u64> = given.map_or_else(Vec::new, |_| {
            self.signatures.given.keys().copied().collect()
        });
        let count = self.count(Field::Number, 7, left.len())?;
        for i in 0..count {
            self.new_signature(left.get(i as usize).copied())?;
        }
        Ok(())
    }
}
