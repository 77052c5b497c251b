//! Parallel regions: each thread's part of a region, its arrivals at barriers, and the wait at the end.
//!
//! A region's function runs inside [`part`] on every thread of the team. A thread that does tasks after its arrival
//! arrives later by their time, and the team waits for the last task as for the last thread.

use crate::guest::recording::RECORDING;
use crate::threads::{
    region::{Packet, Region},
    thread::{Caller, Thread},
};
use headwater_call_path::root;
use headwater_mpi_call::args::Args;
use std::sync::atomic::Ordering;

/// What each thread of a team gets instead of the arguments of the call that begins the region.
fn packet_of(args: &Args, region: &'static Region, reducing: bool) -> Packet {
    let argument = args.raw(1);
    Packet {
        first: match argument {
            0 => 0,
            // SAFETY: the runtime reads the same word.
            at if reducing => unsafe { (at as *const u64).read() },
            _ => 0,
        },
        function: args.raw(0),
        argument,
        region: Some(region),
    }
}

/// Restores where the calling thread was before, also if an exception or a cancellation leaves the region.
struct Back(*mut Thread, usize);

impl Drop for Back {
    fn drop(&mut self) {
        // SAFETY: this thread's own recording, which is never freed.
        unsafe { (*self.0).back_to(self.1) };
    }
}

/// Runs a region: the program's function is called by ours.
pub unsafe fn run(
    t: *mut Thread,
    real: usize,
    args: &mut Args,
    from: Caller,
    reducing: bool,
) -> i64 {
    // SAFETY: promised by the caller; the packet lives as long as the region.
    unsafe {
        let Some(region) = (*t).begin_region(from) else {
            return args.call_any(real);
        };
        let packet = packet_of(args, region, reducing);
        args.replace(0, part as *const () as u64);
        args.replace(1, std::ptr::from_ref(&packet) as u64);
        let _back = Back(t, (*t).openmp.depth());
        let result = args.call_any(real);
        (*t).end_region();
        result
    }
}

/// A thread's part of a region.
unsafe extern "C-unwind" fn part(packet: *const Packet) {
    // SAFETY: as `run` and `start` pass it; null or this thread's own recording. The program's function takes one
    // pointer.
    unsafe {
        let (packet, t) = (&*packet, super::own());
        let (function, argument) = (packet.function as usize, packet.argument);
        let here = std::ptr::from_ref(&packet) as u64;
        if let Some(region) = packet.region
            && RECORDING.load(Ordering::Relaxed)
            && t.as_mut().is_some_and(|t| t.join_region(region, here))
        {
            let _done = Done(t, (*t).openmp.depth());
            let root = &raw mut (*t).contexts.root;
            root::run(root, (*t).openmp.team(), function, argument);
            return;
        }
        let function: unsafe extern "C-unwind" fn(u64) = std::mem::transmute(function);
        function(argument);
    }
}

/// Ends a part, also if `pthread_exit` or a cancellation ends it.
struct Done(*mut Thread, usize);

impl Drop for Done {
    fn drop(&mut self) {
        // SAFETY: this thread's own recording, which is never freed.
        let t = unsafe { &mut *self.0 };
        t.back_to(self.1);
        t.leave_region();
    }
}

/// Begins a region, and the calling thread's part of it.
pub unsafe fn start(t: *mut Thread, real: usize, args: &mut Args, from: Caller) -> i64 {
    // SAFETY: promised by the caller. The packet stays, and nobody else sees it yet.
    unsafe {
        let Some((region, level)) = (*t).begin_region(from).zip((*t).openmp.level()) else {
            return args.call_any(real);
        };
        *level.packet.get() = packet_of(args, region, false);
        args.replace(0, part as *const () as u64);
        args.replace(1, level.packet.get() as u64);
        let result = args.call_any(real);
        if (*t).join_region(region, from.stack_pointer) {
            // The program calls the function from where it called this one.
            (*t).hang_under_region(from.stack_pointer - 8);
        }
        result
    }
}

/// Ends such a region.
pub unsafe fn end(t: *mut Thread, real: usize, args: &Args) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let ours = (*t).openmp.began_by((*t).number);
        if ours {
            (*t).leave_region();
        }
        let result = args.call_any(real);
        if ours {
            (*t).end_region();
        }
        result
    }
}

/// Waits for the team.
pub unsafe fn barrier(t: *mut Thread, real: usize, args: &Args, from: Caller) -> i64 {
    // SAFETY: promised by the caller.
    unsafe {
        let seen = (*t).enter_barrier(from);
        let result = args.call_any(real);
        if let Some(ctx) = seen {
            (*t).leave_barrier(ctx);
        }
        result
    }
}
