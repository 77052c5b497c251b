//! The exported wrappers: naked functions that hand every call to [`crate::dispatch`].
//!
//! A wrapper cannot know how many of its arguments are on the stack, so none of them is a Rust
//! function with a signature: each loads its number and jumps here, where the argument registers are
//! saved, and the return address, the stack pointer before the call and the caller's frame pointer
//! are taken as they are. Unwind information lets exceptions of the program pass.

use crate::dispatch::dispatch;

#[cfg(target_arch = "x86_64")]
macro_rules! jump {
    ($code:expr) => {
        core::arch::naked_asm!("mov eax, {}", "jmp {}", const $code, sym common)
    };
}

#[cfg(target_arch = "aarch64")]
macro_rules! jump {
    ($code:expr) => {
        core::arch::naked_asm!("movz w16, #{}", "movk w16, #{}, lsl #16", "b {}", const $code & 0xffff, const $code >> 16, sym common)
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
        "mov edi, eax",
        "mov rsi, rsp",
        "lea rdx, [rbp + 16]",
        "mov rcx, [rbp + 8]",
        "mov r8, [rbp]",
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
        "mov x29, sp",
        "bl {dispatch}",
        "ldp x29, x30, [sp], #80",
        ".cfi_def_cfa_offset 0",
        "ret",
        ".cfi_endproc",
        dispatch = sym dispatch
    )
}

include!(concat!(env!("OUT_DIR"), "/wrappers.rs"));
