//! Runs a launcher to its end, and passes on the signals that are meant for it.
//!
//! The launcher stays in our process group, so it has the terminal as it would without us. Signals from the kernel
//! (ctrl-c, ctrl-\, a terminal that hangs up) go to the whole group, so they have already reached the launcher. A
//! signal from a process may have been sent to us alone, so it is passed on. A signal that was ignored when we were
//! started (`nohup`) stays ignored, by us and by the launcher.
//!
//! If several launchers run one after the other, a signal may come while none is running. [`Between`] says what happens
//! then.

use crate::events;
use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::flag::register_conditional_default;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::iterator::{Handle, Signals, SignalsInfo};
use signal_hook::low_level::siginfo::{Cause, Origin};
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

/// Signals that are passed on.
const FORWARDED: [i32; 6] = [SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGQUIT, SIGINT];
/// Those of them that ask for an end.
const ENDING: [i32; 4] = [SIGTERM, SIGHUP, SIGQUIT, SIGINT];

/// How a launcher ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its exit code; if a signal ended it, 128 + the signal.
    pub code: u8,
    /// The last signal that asked us or the launcher to end, whether or not it did.
    pub asked_to_end: Option<u8>,
}

/// What to do about a signal that comes after one launcher and before the next one. Without it, the signal has its
/// default effect.
pub struct Between {
    act: Arc<dyn Fn(i32) + Send + Sync>,
    watch: Option<(Handle, JoinHandle<()>)>,
}

impl Between {
    /// Does `act`, on a thread of its own, with the number of the signal. It lasts until this is dropped.
    pub fn new(act: impl Fn(i32) + Send + Sync + 'static) -> Self {
        let (act, watch) = (Arc::new(act), None);
        Self { act, watch }
    }

    /// No launcher runs from now on.
    fn begin(&mut self, caught: &[i32]) -> io::Result<()> {
        let mut signals = Signals::new(caught)?;
        let (handle, act) = (signals.handle(), Arc::clone(&self.act));
        let look = move || {
            while !signals.is_closed() {
                signals.wait().for_each(|signal| act(signal));
            }
            signals.pending().for_each(|signal| act(signal));
        };
        let looker = std::thread::Builder::new().spawn(look)?;
        self.watch = Some((handle, looker));
        Ok(())
    }

    /// The next launcher can start: returns after `act` has been done for each signal that came.
    fn end(&mut self) {
        if let Some((handle, looker)) = self.watch.take() {
            handle.close();
            let _ = looker.join();
        }
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        if self.watch.is_some() {
            let _ = idle(&caught()).map(|idle| idle.store(true, Ordering::SeqCst));
        }
        self.end();
    }
}

/// Runs `command` to its end. After that, a signal has the effect that `between` says.
///
/// # Errors
/// It cannot be started, or signals cannot be caught.
pub fn supervise(command: &mut Command, between: Option<&mut Between>) -> io::Result<Ended> {
    let caught = caught();
    // Signals are caught before the launcher starts, so that one in between is passed on, not lost.
    let mut signals = SignalsInfo::<WithOrigin>::new(&caught)?;
    let idle = idle(&caught)?;
    idle.store(false, Ordering::SeqCst);
    let mut between = between;
    if let Some(between) = &mut between {
        between.end();
    }
    let mut ended = wait(command, &mut signals);
    let watched = between.is_some_and(|between| between.begin(&caught).is_ok());
    idle.store(!watched, Ordering::SeqCst);
    // Signals that came after the launcher's end and before this.
    let late = signals.pending().filter(|o| ENDING.contains(&o.signal));
    let late = late.last().and_then(|o| u8::try_from(o.signal).ok());
    if let Ok(ended) = &mut ended {
        ended.asked_to_end = late.or(ended.asked_to_end);
    }
    ended
}

fn wait(command: &mut Command, signals: &mut SignalsInfo<WithOrigin>) -> io::Result<Ended> {
    let mut child = command.spawn()?;
    // After the launcher's start, so that the launcher does not have the event open as well.
    let _held = events::hold();
    let pid = Pid::from_child(&child);
    let mut asked_to_end = None;
    let handle = signals.handle();
    // This does not use SIGCHLD, which the process that started us may have blocked. The end is only looked at here.
    // So the process number stays the launcher's own until `child.wait` below, and no signal goes to another process.
    let look = move || {
        let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = retry_on_intr(|| waitid(WaitId::Pid(pid), ended));
        handle.close();
    };
    let Ok(looker) = std::thread::Builder::new().spawn(look) else {
        let code = code(child.wait()?);
        return Ok(Ended { code, asked_to_end });
    };
    while !signals.is_closed() {
        for origin in signals.wait() {
            if ENDING.contains(&origin.signal) {
                asked_to_end = u8::try_from(origin.signal).ok();
            }
            if is_for_us_alone(&origin, pid) {
                let _ = Signal::from_named_raw(origin.signal).map(|s| kill_process(pid, s));
            }
        }
    }
    let _ = looker.join();
    Ok(Ended {
        code: code(child.wait()?),
        asked_to_end,
    })
}

/// Whether a signal has to be passed on to `launcher`.
fn is_for_us_alone(origin: &Origin, launcher: Pid) -> bool {
    let from_launcher = origin
        .process
        .is_some_and(|p| p.pid == launcher.as_raw_nonzero().get());
    !matches!(origin.cause, Cause::Kernel) && !from_launcher
}

/// Exit code as shells report it.
fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map(|s| 128 + s);
    let code = status.code().or_else(signal);
    code.and_then(|c| u8::try_from(c).ok()).unwrap_or(u8::MAX)
}

/// The signals to pass on: those that were not ignored when we were started.
fn caught() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    FORWARDED
        .into_iter()
        .filter(|s| ignored & (1 << (s - 1)) == 0)
        .collect()
}

/// The mask of ignored signals in a process's status; 0 if it is not there.
fn ignored(status: &str) -> u64 {
    let line = status.lines().find_map(|l| l.strip_prefix("SigIgn:"));
    line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok())
        .unwrap_or(0)
}

/// The switch for the time without a launcher: while it is set, signals have their default effect.
fn idle(caught: &[i32]) -> io::Result<Arc<AtomicBool>> {
    static IDLE: OnceLock<Arc<AtomicBool>> = OnceLock::new();
    if let Some(idle) = IDLE.get() {
        return Ok(Arc::clone(idle));
    }
    let idle = Arc::new(AtomicBool::new(false));
    for signal in caught {
        register_conditional_default(*signal, Arc::clone(&idle))?;
    }
    Ok(Arc::clone(IDLE.get_or_init(|| idle)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_a_shell() {
        assert_eq!(code(ExitStatus::from_raw(7 << 8)), 7);
        assert_eq!(code(ExitStatus::from_raw(SIGTERM)), 143);
    }

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        assert_eq!(ignored("Name:\tsh\nSigIgn:\t0000000000000001\n"), 1);
        assert_eq!(ignored("Name:\tsh\n"), 0);
    }
}
