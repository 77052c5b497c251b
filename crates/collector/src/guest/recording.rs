//! Whether this process records, and whether it is the process that began.

use std::sync::atomic::{AtomicBool, Ordering};

/// What is true only in the process that began recording. It is on pages of its own, which the kernel clears in a
/// child process, because not every way to make a child calls the handlers of `fork`.
#[cfg_attr(target_arch = "x86_64", repr(C, align(4096)))]
#[cfg_attr(target_arch = "aarch64", repr(C, align(65536)))]
struct Own {
    /// Whether these pages are those of the process that began.
    here: AtomicBool,
    recording: AtomicBool,
    stopped: AtomicBool,
}

static OWN: Own = Own {
    here: AtomicBool::new(false),
    recording: AtomicBool::new(false),
    stopped: AtomicBool::new(false),
};

/// Whether calls are recorded: between `MPI_Init` and `MPI_Finalize`, or between the first session and the last, in
/// the process that began.
pub static RECORDING: &AtomicBool = &OWN.recording;
/// Whether recording had to stop early, for lack of memory. Other ranks still wait for this one at the end.
static STOPPED: &AtomicBool = &OWN.stopped;
/// Whether recording ever began, in this process or in one that this is a child of.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Begins: this is the process that records, as soon as [`RECORDING`] is set. Returns whether the kernel distinguishes
/// it from its children.
pub fn begin_here() -> bool {
    // SAFETY: advice for a variable that fills its pages.
    let is_wiped_in_children = unsafe {
        let own = std::ptr::from_ref(&OWN).cast_mut().cast();
        libc::madvise(own, size_of::<Own>(), libc::MADV_WIPEONFORK) == 0
    };
    OWN.here.store(true, Ordering::Release);
    BEGUN.store(true, Ordering::Release);
    is_wiped_in_children
}

/// Whether this is a child of the process that began, with memory of its own, however it was made.
pub fn is_a_child() -> bool {
    BEGUN.load(Ordering::Acquire) && !OWN.here.load(Ordering::Acquire)
}

/// Nothing more is recorded. Takes no lock and no memory, because there is none left.
#[cold]
pub fn stop() {
    STOPPED.store(true, Ordering::Release);
    RECORDING.store(false, Ordering::Release);
}

/// Returns whether recording stopped early, and clears this: it may begin again.
pub fn take_stopped() -> bool {
    STOPPED.swap(false, Ordering::AcqRel)
}

/// For a child after `fork`: the file and the other ranks belong to its parent.
pub fn leave_to_parent() {
    OWN.here.store(false, Ordering::Release);
    RECORDING.store(false, Ordering::Release);
    STOPPED.store(false, Ordering::Release);
}

/// Whether other ranks count on this process at the end.
pub fn to_be_ended() -> bool {
    RECORDING.load(Ordering::Acquire) || STOPPED.load(Ordering::Acquire)
}
