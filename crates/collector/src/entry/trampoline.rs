//! The exported wrappers: naked functions that pass every call to [`crate::entry::dispatch`].
//!
//! A wrapper cannot know how many of its arguments are on the stack, so no wrapper is a Rust function with a
//! signature. Each loads its number and jumps to a common part here. That part saves the argument registers, and
//! takes the return address, the stack pointer before the call and the caller's frame pointer. Unwind information
//! lets exceptions of the program pass.
//!
//! The arguments of a variadic function are unknown. So every register that can hold one is restored, and the wrapper
//! jumps to the real function, which finds the program's own stack.
//!
//! Functions in which threads wait for one another have at most four arguments and are called often. They have a
//! trampoline of their own, which leaves the arguments in their registers. `syscall` goes on to the libc's at once,
//! unless it is called for a futex.

use crate::entry::dispatch::{dispatch, switch};
use crate::threads::{futex::SYSTEM_CALL, locks};

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($code:expr, $way:ident) => {
        // Not in `eax`: its lower part says how many vector registers hold variadic arguments.
        core::arch::naked_asm!("mov r11d, {}", "xor r10d, r10d", "jmp {}", const $code, sym $way)
    };
    // If the collector is linked into the program, the linker knows the real function.
    ($code:expr, $way:ident, $real:literal) => {
        core::arch::naked_asm!(
            "mov r11d, {}",
            concat!("mov r10, qword ptr [rip + ", $real, "@GOTPCREL]"),
            "jmp {}",
            const $code,
            sym $way
        )
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! jump_if_lock {
    ($code:expr, $way:ident) => {
        core::arch::naked_asm!(
            "cmp edi, {futex}",
            "je 2f",
            "mov rax, [rip + {real}]",
            "test rax, rax",
            "je 2f",
            "jmp rax",
            "2:",
            "mov r11d, {code}",
            "xor r10d, r10d",
            "jmp {way}",
            futex = const libc::SYS_futex,
            real = sym SYSTEM_CALL,
            code = const $code,
            way = sym $way
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump_if_lock {
    ($code:expr, $way:ident) => {
        core::arch::naked_asm!(
            "cmp w0, #{futex}",
            "b.eq 2f",
            "adrp x16, {real}",
            "ldr x16, [x16, :lo12:{real}]",
            "cbz x16, 2f",
            "br x16",
            "2:",
            "movz w16, #{low}",
            "movk w16, #{high}, lsl #16",
            "mov x17, xzr",
            "b {way}",
            futex = const libc::SYS_futex,
            real = sym SYSTEM_CALL,
            low = const $code & 0xffff,
            high = const $code >> 16,
            way = sym $way
        )
    };
}

#[cfg(target_arch = "x86_64")]
macro_rules! leave_arguments {
    ($number:literal, $frame:literal, $to:expr) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "push rbp",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset rbp, -16",
            "mov rbp, rsp",
            ".cfi_def_cfa_register rbp",
            concat!("mov ", $number, ", r11d"),
            concat!("mov ", $frame, ", rbp"),
            "call {}",
            "pop rbp",
            ".cfi_def_cfa rsp, 8",
            "ret",
            ".cfi_endproc",
            sym $to
        )
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! leave_arguments {
    ($number:literal, $frame:literal, $to:expr) => {
        core::arch::naked_asm!(
            ".cfi_startproc",
            "stp x29, x30, [sp, #-16]!",
            ".cfi_def_cfa_offset 16",
            ".cfi_offset x29, -16",
            ".cfi_offset x30, -8",
            "mov x29, sp",
            concat!("mov ", $number, ", w16"),
            concat!("mov ", $frame, ", sp"),
            "bl {}",
            "ldp x29, x30, [sp], #16",
            ".cfi_def_cfa_offset 0",
            "ret",
            ".cfi_endproc",
            sym $to
        )
    };
}

/// Leaves four arguments in place, and adds the number of the function and the address of the frame.
#[unsafe(naked)]
unsafe extern "C" fn to_wait() {
    #[cfg(target_arch = "x86_64")]
    leave_arguments!("r8d", "r9", locks::call);
    #[cfg(target_arch = "aarch64")]
    leave_arguments!("w4", "x5", locks::call);
}

/// Leaves one argument in place, and adds the number of the function and the address of the frame.
#[unsafe(naked)]
unsafe extern "C" fn to_mutex() {
    #[cfg(target_arch = "x86_64")]
    leave_arguments!("esi", "rdx", locks::mutex);
    #[cfg(target_arch = "aarch64")]
    leave_arguments!("w1", "x2", locks::mutex);
}

/// The same.
#[unsafe(naked)]
unsafe extern "C" fn to_lock() {
    #[cfg(target_arch = "x86_64")]
    leave_arguments!("esi", "rdx", locks::lock);
    #[cfg(target_arch = "aarch64")]
    leave_arguments!("w1", "x2", locks::lock);
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($code:expr, $way:ident) => {
        core::arch::naked_asm!(
            "movz w16, #{}", "movk w16, #{}, lsl #16", "mov x17, xzr", "b {}",
            const $code & 0xffff, const $code >> 16, sym $way
        )
    };
    ($code:expr, $way:ident, $real:literal) => {
        core::arch::naked_asm!(
            "movz w16, #{}", "movk w16, #{}, lsl #16",
            concat!("adrp x17, :got:", $real), concat!("ldr x17, [x17, :got_lo12:", $real, "]"),
            "b {}",
            const $code & 0xffff, const $code >> 16, sym $way
        )
    };
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn common() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 64",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov edi, r11d",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "mov rcx, [rbp + 8]",
        "mov r8, [rbp]",
        "mov r9, r10",
        "call {dispatch}",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn common() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-80]!",
        ".cfi_def_cfa_offset 80",
        ".cfi_offset x29, -80",
        ".cfi_offset x30, -72",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "mov w0, w16",
        "add x1, sp, #16",
        "add x2, sp, #80",
        "mov x3, x30",
        "mov x4, x29",
        "mov x5, x17",
        "mov x29, sp",
        "bl {dispatch}",
        "ldp x29, x30, [sp], #80",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch
    )
}

#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn passing_on() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "sub rsp, 192",
        "mov [rsp], rdi",
        "mov [rsp + 8], rsi",
        "mov [rsp + 16], rdx",
        "mov [rsp + 24], rcx",
        "mov [rsp + 32], r8",
        "mov [rsp + 40], r9",
        "mov [rsp + 48], rax",
        "movaps [rsp + 64], xmm0",
        "movaps [rsp + 80], xmm1",
        "movaps [rsp + 96], xmm2",
        "movaps [rsp + 112], xmm3",
        "movaps [rsp + 128], xmm4",
        "movaps [rsp + 144], xmm5",
        "movaps [rsp + 160], xmm6",
        "movaps [rsp + 176], xmm7",
        "mov edi, r11d",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "mov rcx, [rbp + 8]",
        "mov r8, [rbp]",
        "mov r9, r10",
        "call {switch}",
        "mov r11, rax",
        "mov rdi, [rsp]",
        "mov rsi, [rsp + 8]",
        "mov rdx, [rsp + 16]",
        "mov rcx, [rsp + 24]",
        "mov r8, [rsp + 32]",
        "mov r9, [rsp + 40]",
        "mov rax, [rsp + 48]",
        "movaps xmm0, [rsp + 64]",
        "movaps xmm1, [rsp + 80]",
        "movaps xmm2, [rsp + 96]",
        "movaps xmm3, [rsp + 112]",
        "movaps xmm4, [rsp + 128]",
        "movaps xmm5, [rsp + 144]",
        "movaps xmm6, [rsp + 160]",
        "movaps xmm7, [rsp + 176]",
        "leave",
        ".cfi_def_cfa rsp, 8",
        "jmp r11",
        ".cfi_endproc",
        switch = sym switch
    )
}

#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn passing_on() {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-208]!",
        ".cfi_def_cfa_offset 208",
        ".cfi_offset x29, -208",
        ".cfi_offset x30, -200",
        "stp x0, x1, [sp, #16]",
        "stp x2, x3, [sp, #32]",
        "stp x4, x5, [sp, #48]",
        "stp x6, x7, [sp, #64]",
        "stp q0, q1, [sp, #80]",
        "stp q2, q3, [sp, #112]",
        "stp q4, q5, [sp, #144]",
        "stp q6, q7, [sp, #176]",
        "mov w0, w16",
        "add x1, sp, #16",
        "add x2, sp, #208",
        "mov x3, x30",
        "mov x4, x29",
        "mov x5, x17",
        "mov x29, sp",
        "bl {switch}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x2, x3, [sp, #32]",
        "ldp x4, x5, [sp, #48]",
        "ldp x6, x7, [sp, #64]",
        "ldp q0, q1, [sp, #80]",
        "ldp q2, q3, [sp, #112]",
        "ldp q4, q5, [sp, #144]",
        "ldp q6, q7, [sp, #176]",
        "ldp x29, x30, [sp], #208",
        ".cfi_def_cfa_offset 0",
        "br x16",
        ".cfi_endproc",
        switch = sym switch
    )
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
