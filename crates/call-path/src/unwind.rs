//! Finds call paths by the program's own unwind tables, without allocating.

use crate::modules::Loaded;
#[cfg(target_arch = "x86_64")]
use crate::realigned::{self, Above};
use crate::stack::Stack;
use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, Module, MustNotAllocateDuringUnwind,
    Unwinder, UnwinderNative,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// The most frames of a path.
pub const DEEPEST: usize = 192;

type Rules = UnwinderNative<&'static [u8], MustNotAllocateDuringUnwind>;
/// What the unwinder remembers between paths; each thread has one.
pub struct Cache {
    rules: CacheNative<MustNotAllocateDuringUnwind>,
    #[cfg(target_arch = "x86_64")]
    realigned: realigned::Known,
}

impl Cache {
    /// Nothing yet.
    pub fn new() -> Self {
        Self {
            rules: CacheNative::new_in(),
            #[cfg(target_arch = "x86_64")]
            realigned: realigned::Known::new(),
        }
    }
}

/// A section as mapped: its address and its bytes.
type Section = Option<(u64, &'static [u8])>;

/// The unwind tables of a module.
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
pub(crate) struct Sections {
    pub eh_frame_hdr: Section,
    pub eh_frame: Section,
}

/// A module: its first address, and the one behind its last.
struct Mapped {
    start: u64,
    end: u64,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    sections: Sections,
    #[cfg(target_arch = "x86_64")]
    aligns: realigned::Aligns,
}

/// Unwind tables of all modules.
pub struct Tables {
    rules: Rules,
    /// All modules, sorted.
    modules: Vec<Mapped>,
    /// No other tables of this process have this number.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code))]
    number: u64,
}

/// Where a call came from.
#[derive(Clone, Copy, Default, PartialEq)]
pub struct Caller {
    /// Return address.
    pub return_address: u64,
    /// Stack pointer before the call.
    pub stack_pointer: u64,
    /// Frame pointer of the caller.
    pub frame_pointer: u64,
}

impl Caller {
    /// Where the path of the call begins.
    pub(crate) fn start(self) -> Start {
        Start {
            ip: self.return_address,
            returned: true,
            sp: self.stack_pointer,
            fp: self.frame_pointer,
            lr: 0,
        }
    }
}

/// Where unwinding begins.
#[derive(Clone, Copy)]
pub struct Start {
    /// Instruction, or return address.
    pub ip: u64,
    /// Whether `ip` is a return address.
    pub returned: bool,
    /// Stack pointer at that place.
    pub sp: u64,
    /// Frame pointer register.
    pub fp: u64,
    /// Link register, if there is one.
    pub lr: u64,
}

/// A call path, innermost first, with the stack slot of each return address.
pub struct Path {
    /// Addresses.
    pub ip: [u64; DEEPEST],
    /// Slots that hold the address of the same index; 0 for the first one.
    pub slot: [u64; DEEPEST],
    /// How many.
    pub len: usize,
}

impl Path {
    /// An empty path.
    pub const fn new() -> Self {
        Self {
            ip: [0; DEEPEST],
            slot: [0; DEEPEST],
            len: 0,
        }
    }
}

impl Default for Path {
    fn default() -> Self {
        Self::new()
    }
}

impl Path {
    /// Ends the path before the first frame that is inside code for which `inside` holds and called code for which it
    /// does not.
    pub fn cut_behind(&mut self, inside: impl Fn(u64) -> bool) {
        let mut called = false;
        let ip = self.ip.iter().take(self.len);
        let end = ip.map(|ip| inside(*ip)).position(|i| {
            called |= !i;
            i && called
        });
        self.len = end.unwrap_or(self.len);
    }
}

impl Tables {
    /// First address of the module that holds an address, and the one behind its last, among the modules that were
    /// looked at.
    pub fn module_of(&self, address: u64) -> Option<(u64, u64)> {
        let module = self.module(address)?;
        Some((module.start, module.end))
    }

    fn module(&self, address: u64) -> Option<&Mapped> {
        let after = self.modules.partition_point(|m| m.start <= address);
        let module = self.modules.get(after.checked_sub(1)?)?;
        (address <= module.end).then_some(module)
    }

    /// Whether an address is in a module that was looked at.
    pub fn know(&self, address: u64) -> bool {
        self.module_of(address).is_some()
    }

    /// The tables of `modules`.
    pub fn new(modules: &[Loaded]) -> Self {
        let mut rules = Rules::new();
        for m in modules {
            let base = m.row.base;
            let range = |part: Option<(u64, &'static [u8])>| {
                part.map(|(a, b)| a - base..a - base + b.len() as u64)
            };
            let sections = ExplicitModuleSectionInfo {
                base_svma: 0,
                eh_frame_hdr_svma: range(m.eh_frame_hdr),
                eh_frame_hdr: m.eh_frame_hdr.map(|p| p.1),
                eh_frame_svma: range(m.eh_frame),
                eh_frame: m.eh_frame.map(|p| p.1),
                ..Default::default()
            };
            rules.add_module(Module::new(
                String::new(),
                m.row.start..m.row.end,
                base,
                sections,
            ));
        }
        let known = modules.iter().map(|m| Mapped {
            start: m.row.start,
            end: m.row.end,
            sections: Sections {
                eh_frame_hdr: m.eh_frame_hdr,
                eh_frame: m.eh_frame,
            },
            #[cfg(target_arch = "x86_64")]
            aligns: realigned::Aligns::default(),
        });
        let mut known: Vec<_> = known.collect();
        known.sort_unstable_by_key(|m| (m.start, m.end));
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self {
            rules,
            modules: known,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
        }
    }

    /// Unwinds from `start`, on the thread's own stack or another one. Ends before the frame whose return address is
    /// at `cut` or above. Never allocates.
    pub fn walk(&self, start: Start, stack: Stack, cut: u64, cache: &mut Cache, path: &mut Path) {
        let read = |address: u64| stack.word(start.sp, address);
        self.walk_with(start, cut, cache, path, read);
    }

    /// The same for a stack whose words `word` returns.
    pub fn walk_with(
        &self,
        start: Start,
        cut: u64,
        cache: &mut Cache,
        path: &mut Path,
        word: impl Fn(u64) -> Option<u64>,
    ) {
        let mut read = |address: u64| word(address).ok_or(());
        #[cfg(target_arch = "x86_64")]
        let mut regs = framehop::x86_64::UnwindRegsX86_64::new(start.ip, start.sp, start.fp);
        #[cfg(target_arch = "aarch64")]
        let mut regs = framehop::aarch64::UnwindRegsAarch64::new(start.lr, start.sp, start.fp);
        let mut frame = if start.returned {
            FrameAddress::from_return_address(start.ip)
        } else {
            Some(FrameAddress::from_instruction_pointer(start.ip))
        };
        path.len = 0;
        let mut slot = 0;
        while let Some(at) = frame {
            if slot >= cut {
                return;
            }
            let (Some(ip), Some(where_)) = (path.ip.get_mut(path.len), path.slot.get_mut(path.len))
            else {
                return;
            };
            (*ip, *where_) = (at.address(), slot);
            path.len += 1;
            let before = regs.sp();
            #[cfg(target_arch = "x86_64")]
            match self.above(at, &regs, &mut cache.realigned, &word) {
                Above::InTable => {}
                Above::Unknown => return,
                Above::Caller(caller) => {
                    let return_address = caller.return_address;
                    frame = FrameAddress::from_return_address(return_address);
                    slot = caller.slot;
                    regs = framehop::x86_64::UnwindRegsX86_64::new(
                        return_address,
                        caller.stack_pointer,
                        caller.frame_pointer,
                    );
                    continue;
                }
            }
            frame = match (self.rules).unwind_frame(at, &mut regs, &mut cache.rules, &mut read) {
                Ok(Some(next)) if regs.sp() >= before => FrameAddress::from_return_address(next),
                _ => None,
            };
            slot = regs.sp().wrapping_sub(8);
        }
    }
}

#[cfg(target_arch = "x86_64")]
impl Tables {
    /// What is above a frame, if it aligns its stack.
    #[inline]
    fn above(
        &self,
        at: FrameAddress,
        regs: &framehop::x86_64::UnwindRegsX86_64,
        known: &mut realigned::Known,
        word: impl Fn(u64) -> Option<u64>,
    ) -> Above {
        let address = at.address_for_lookup();
        let module = self.module(address);
        let module = module.filter(|m| m.aligns.may(&m.sections));
        let slots = module.and_then(|m| known.slots(self.number, address, &m.sections));
        match slots.map(|slots| slots.caller(regs.sp(), regs.bp(), word)) {
            None => Above::InTable,
            Some(None) => Above::Unknown,
            Some(Some(caller)) => Above::Caller(caller),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_ends_before_the_runtime_that_called_the_rest() {
        let is_runtime = |ip| ip >= 10;
        for (ips, left) in [
            (&[1, 2, 10, 3][..], 2),
            // Its own code may be innermost: the program has called it.
            (&[10, 11, 1, 2, 12, 3], 4),
            (&[1, 2], 2),
            (&[10, 11], 2),
        ] {
            let mut path = Box::new(Path::new());
            path.ip[..ips.len()].copy_from_slice(ips);
            path.len = ips.len();
            path.cut_behind(is_runtime);
            assert_eq!(path.len, left, "{ips:?}");
        }
    }
}
