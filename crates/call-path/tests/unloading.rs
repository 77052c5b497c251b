//! Unwind tables while libraries are unloaded: a process of its own, because the tables point into its libraries.
#![allow(unsafe_code)]

use headwater_call_path::{Host, InForce, Loaded};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// A process that counts what it is asked to do.
struct Counting {
    noted: AtomicUsize,
    unloaded: AtomicUsize,
    lost: AtomicUsize,
    is_a_child: AtomicBool,
    is_full: AtomicBool,
}

static THIS: Counting = Counting {
    noted: AtomicUsize::new(0),
    unloaded: AtomicUsize::new(0),
    lost: AtomicUsize::new(0),
    is_a_child: AtomicBool::new(false),
    is_full: AtomicBool::new(false),
};

impl Host for &Counting {
    fn has_room(&self, _bytes: usize) -> bool {
        !self.is_full.load(Relaxed)
    }

    fn note(&self, modules: &[Loaded]) {
        assert!(!modules.is_empty());
        self.noted.fetch_add(1, Relaxed);
    }

    fn note_code(&self, modules: &[Loaded]) {
        self.note(modules);
    }

    fn unloaded(&self) {
        self.unloaded.fetch_add(1, Relaxed);
    }

    fn is_a_child(&self) -> bool {
        self.is_a_child.load(Relaxed)
    }

    fn lost(&self) {
        self.lost.fetch_add(1, Relaxed);
    }
}

/// How often modules were noted, libraries were unloaded, and the tables were lost.
fn counts() -> (usize, usize, usize) {
    let [noted, unloaded, lost] =
        [&THIS.noted, &THIS.unloaded, &THIS.lost].map(|n| n.load(Relaxed));
    (noted, unloaded, lost)
}

/// Loads and unloads a library of the C library that nothing else uses.
fn unload_one() {
    // SAFETY: no address in the library is used.
    unsafe {
        let library = libc::dlopen(c"libthread_db.so.1".as_ptr(), libc::RTLD_LAZY);
        assert!(!library.is_null(), "no library to unload");
        libc::dlclose(library);
    }
}

#[test]
fn tables_are_made_again_only_if_a_library_was_unloaded() {
    static ALL: InForce<&Counting> = InForce::new(&THIS);
    ALL.while_modules_change(unload_one);
    assert_eq!(counts(), (0, 0, 0), "there were no tables");
    ALL.look_at_modules();
    assert_eq!(counts(), (1, 0, 0));
    ALL.while_modules_change(|| ());
    assert_eq!(counts(), (1, 0, 0));
    ALL.while_modules_change(|| {
        unload_one();
        assert!(ALL.tables().is_none() && ALL.are_away());
    });
    assert_eq!(counts(), (2, 1, 0));
    assert!(ALL.tables().is_some());

    THIS.is_a_child.store(true, Relaxed);
    ALL.while_modules_change(|| assert!(ALL.tables().is_some(), "they are the parent's"));
    THIS.is_a_child.store(false, Relaxed);

    THIS.is_full.store(true, Relaxed);
    ALL.while_modules_change(unload_one);
    assert_eq!(counts(), (2, 2, 1));
    assert!(ALL.tables().is_none(), "they point into what is gone");
}
