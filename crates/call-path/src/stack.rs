//! Reads stacks.
//!
//! A thread's own stack is read directly. The end of a stack that the program has made for itself, for a fiber or for
//! signals, is unknown. So the kernel is asked to read it, which does not fault.

/// The stack that the system gave a thread.
#[derive(Clone, Copy)]
pub struct Stack {
    low: u64,
    end: u64,
}

impl Stack {
    /// An unknown stack.
    pub const NONE: Self = Self { low: 0, end: 0 };

    /// The calling thread's.
    pub fn own() -> Self {
        // SAFETY: a zeroed attribute is filled by the call and then freed; the answer is plain numbers.
        unsafe {
            let mut attributes: libc::pthread_attr_t = std::mem::zeroed();
            if libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) != 0 {
                return Self::NONE;
            }
            let (mut base, mut size) = (std::ptr::null_mut(), 0);
            libc::pthread_attr_getstack(&attributes, &mut base, &mut size);
            libc::pthread_attr_destroy(&mut attributes);
            Self {
                low: base as u64,
                end: base as u64 + size as u64,
            }
        }
    }

    /// Bytes that it has in all.
    pub fn bytes(&self) -> usize {
        (self.end - self.low) as usize
    }

    /// Whether a stack pointer is in it.
    #[inline]
    pub fn holds(&self, sp: u64) -> bool {
        (self.low..self.end).contains(&sp)
    }

    /// Bytes that are left of it below `sp`; 0 if `sp` is elsewhere.
    pub fn left(&self, sp: u64) -> u64 {
        if self.holds(sp) { sp - self.low } else { 0 }
    }

    /// The word at `address`, of the stack that `sp` is in; `None` if there is no such word.
    #[inline]
    pub fn word(&self, sp: u64, address: u64) -> Option<u64> {
        if !address.is_multiple_of(8) || address < sp {
            return None;
        }
        if !self.holds(sp) {
            let mut words = [0u64];
            return ask(&[address], &mut words).then_some(words[0]);
        }
        let inside = address.checked_add(8).is_some_and(|end| end <= self.end);
        // SAFETY: aligned and between the stack pointer and the end of this thread's stack.
        inside.then(|| unsafe { (address as *const u64).read_volatile() })
    }
}

/// The most words that are read at once.
pub const AT_ONCE: usize = 40;

/// A piece of no memory.
const NOWHERE: libc::iovec = libc::iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

/// Copies pieces of this process one behind the other into others, by one system call, and returns how many bytes it has
/// copied: the kernel stops at the first piece that is not mapped. Below 0 if the system does not allow it.
///
/// # Safety
/// The pieces in `to` are the caller's to write, and may hold any bytes.
unsafe fn read(to: &[libc::iovec], from: &[libc::iovec]) -> i64 {
    // SAFETY: promised by the caller; the kernel checks what it reads from.
    unsafe {
        libc::syscall(
            libc::SYS_process_vm_readv,
            libc::getpid(),
            to.as_ptr(),
            to.len(),
            from.as_ptr(),
            from.len(),
            // As wide as the kernel reads it: a narrower value would leave half of its slot on the stack undefined.
            0usize,
        )
    }
}

/// Reads the words at `addresses` of this process into `words` by one system call. Returns `false` if any of them is
/// not mapped, or if the system does not allow it.
pub fn ask(addresses: &[u64], words: &mut [u64]) -> bool {
    let mut from = [NOWHERE; AT_ONCE];
    let n = addresses.len().min(words.len()).min(AT_ONCE);
    for (to, address) in from.iter_mut().zip(addresses) {
        *to = libc::iovec {
            iov_base: *address as *mut libc::c_void,
            iov_len: 8,
        };
    }
    let to = libc::iovec {
        iov_base: words.as_mut_ptr().cast(),
        iov_len: 8 * n,
    };
    // SAFETY: at most `n` words of our own buffer.
    let copied = unsafe { read(&[to], from.get(..n).unwrap_or(&[])) };
    n == addresses.len() && copied == 8 * n as i64
}

/// Fills `bytes` with what is at `address` of this process, by one system call. Returns `false` if not all of it is
/// mapped, or if the system does not allow it.
pub fn bytes_at(address: u64, bytes: &mut [u8]) -> bool {
    // SAFETY: the room is ours, and takes any bytes.
    unsafe { copy(address, bytes.as_mut_ptr().cast(), bytes.len()) }
}

/// The most blocks that are read at once.
const BLOCKS_AT_ONCE: usize = 64;

/// Fills each block with what is at its begin, unless that is 0, by one system call. The begins of those that were not
/// read become 0: the kernel stops at the first that is not mapped, and takes no more than [`BLOCKS_AT_ONCE`].
pub fn blocks_at<const N: usize>(begins: &mut [u64], bytes: &mut [[u8; N]]) {
    let (mut from, mut to) = ([NOWHERE; BLOCKS_AT_ONCE], [NOWHERE; BLOCKS_AT_ONCE]);
    let mut wanted = 0;
    let pieces = from.iter_mut().zip(&mut to);
    let blocks = begins
        .iter()
        .zip(bytes.iter_mut())
        .filter(|(b, _)| **b != 0);
    for ((from, to), (begin, bytes)) in pieces.zip(blocks) {
        from.iov_base = *begin as *mut libc::c_void;
        to.iov_base = bytes.as_mut_ptr().cast();
        (from.iov_len, to.iov_len) = (N, N);
        wanted += 1;
    }
    let (to, from) = (to.get(..wanted), from.get(..wanted));
    // SAFETY: the blocks that the caller has.
    let copied = unsafe { read(to.unwrap_or(&[]), from.unwrap_or(&[])) };
    let whole = usize::try_from(copied).unwrap_or(0) / N.max(1);
    let lacking = begins.iter_mut().filter(|b| **b != 0).skip(whole);
    lacking.for_each(|begin| *begin = 0);
}

/// This many words of this process from `address` on; zeros after the end of the stack.
pub fn words_from(address: u64, count: usize) -> Box<[u64]> {
    let mut words = vec![0u64; count].into_boxed_slice();
    let bytes = size_of_val(&*words);
    // SAFETY: as above.
    unsafe { copy(address, words.as_mut_ptr().cast(), bytes) };
    words
}

/// Copies `length` bytes of this process from `address`, as far as they are mapped. Returns whether all were.
///
/// # Safety
/// There is room for as many bytes at `to`, of values that may be any bytes.
unsafe fn copy(address: u64, to: *mut libc::c_void, length: usize) -> bool {
    let to = libc::iovec {
        iov_base: to,
        iov_len: length,
    };
    let from = libc::iovec {
        iov_base: address as *mut libc::c_void,
        iov_len: length,
    };
    // SAFETY: the room that the caller has.
    let copied = unsafe { read(&[to], &[from]) };
    copied == length as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_mapped_is_not_read() {
        let (here, mut words) = (7u64, [0u64; 2]);
        let address = std::ptr::from_ref(&here) as u64;
        assert!(Stack::own().holds(address));
        assert!(ask(&[address], &mut words[..1]), "{words:?}");
        assert_eq!(words[0], 7);
        assert!(!ask(&[address, 64], &mut words));
        let mut bytes = [0; 8];
        assert!(bytes_at(address, &mut bytes) && u64::from_ne_bytes(bytes) == 7);
        assert!(!bytes_at(64, &mut bytes));
        let mut blocks = [[0; 8]; 4];
        let mut begins = [address, 0, address, 64];
        blocks_at(&mut begins, &mut blocks);
        assert_eq!(begins, [address, 0, address, 0]);
        assert_eq!(blocks.map(u64::from_ne_bytes)[..3], [7, 0, 7]);
        let foreign = Stack::NONE;
        assert!(foreign.word(address, address & !7).is_some());
        assert_eq!(foreign.word(64, 64), None);
    }
}
