//! Instructions that calculate in vector registers, on one value (scalar) or on several at once (packed).
//!
//! Integer arithmetic in general registers is left out: it looks like counting and addressing. So the share of
//! packed instructions is that of floating-point arithmetic, and of packed integers.

use crate::flow::Flow;
use headwater_model::psg::Arithmetic;
use iced_x86::Mnemonic;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// What an instruction calculates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Nothing in vector registers.
    Other,
    /// One value.
    Scalar,
    /// Several values at once.
    Packed,
}

/// Names of x86 instructions on floating-point numbers without the `v` before and the type behind; those of fused ones
/// go on.
const FLOATING: [&str; 14] = [
    "add", "sub", "mul", "div", "sqrt", "min", "max", "rcp", "rsqrt", "hadd", "hsub", "addsub",
    "dp", "dpbf16",
];
const FUSED: [&str; 6] = ["fmadd", "fmsub", "fnmadd", "fnmsub", "fmaddsub", "fmsubadd"];
/// Beginnings of names of x86 instructions on packed integers, without the `v`.
const INTEGER: [&str; 15] = [
    "padd", "psub", "pmul", "pmadd", "pmin", "pmax", "pabs", "pavg", "psad", "phadd", "phsub",
    "psll", "psrl", "psra", "pdp",
];
/// Those that begin so but only move bytes.
const MOVES: [&str; 2] = ["pslldq", "psrldq"];
/// Instructions of the old floating-point unit.
const X87: [&str; 8] = [
    "fadd", "fsub", "fsubr", "fmul", "fdiv", "fdivr", "fsqrt", "faddp",
];
const X87_POPPING: [&str; 5] = ["fsubp", "fsubrp", "fmulp", "fdivp", "fdivrp"];

/// What an x86 instruction calculates, by its name.
fn of_name(name: &str) -> Work {
    let name = name.to_lowercase();
    if X87.iter().chain(&X87_POPPING).any(|n| *n == name) {
        return Work::Scalar;
    }
    let name = name.strip_prefix('v').unwrap_or(&name);
    if MOVES.contains(&name) {
        return Work::Other;
    }
    if INTEGER.iter().any(|begin| name.starts_with(begin)) {
        return Work::Packed;
    }
    let Some((base, last)) = name.split_at_checked(name.len().saturating_sub(2)) else {
        return Work::Other;
    };
    let work = match last {
        "ps" | "pd" | "ph" => Work::Packed,
        "ss" | "sd" | "sh" => Work::Scalar,
        _ => return Work::Other,
    };
    // The order of a fused instruction's operands is a number.
    let fused = base.trim_end_matches(|c: char| c.is_ascii_digit());
    // Approximations have their exactness behind the name.
    let about = ["14", "28"].iter().find_map(|end| base.strip_suffix(end));
    let is_known = FLOATING.contains(&about.unwrap_or(base)) || FUSED.contains(&fused);
    if is_known { work } else { Work::Other }
}

/// By number of the instruction's name.
static X86: LazyLock<Vec<Work>> = LazyLock::new(|| {
    Mnemonic::values()
        .map(|m| of_name(&format!("{m:?}")))
        .collect()
});

/// What an x86 instruction calculates.
pub fn of_x86(mnemonic: Mnemonic) -> Work {
    X86.get(mnemonic as usize).copied().unwrap_or(Work::Other)
}

/// AArch64 instructions, each group by the bits that are looked at and their values.
const ARM: [(u32, u32, Work); 16] = [
    // NEON: combining bits, which is also how a register is copied, and comparisons.
    (0x9f20_fc00, 0x0e20_1c00, Work::Other),
    (0x9f20_f400, 0x0e20_3400, Work::Other),
    (0x9f20_fc00, 0x0e20_8c00, Work::Other),
    (0x9f20_fc00, 0x0e20_e400, Work::Other),
    // Floating point: one, two and three sources.
    (0xff3f_fc00, 0x1e21_c000, Work::Scalar),
    (0xff20_0c00, 0x1e20_0800, Work::Scalar),
    (0xff00_0000, 0x1f00_0000, Work::Scalar),
    // NEON: three registers of one shape, of different shapes, by an element, and roots.
    (0x9f20_0400, 0x0e20_0400, Work::Packed),
    (0x9f20_0c00, 0x0e20_0000, Work::Packed),
    (0x9f00_0400, 0x0f00_0000, Work::Packed),
    (0xbfbf_fc00, 0x2ea1_f800, Work::Packed),
    // SVE floating point: without and with a predicate, fused, and by an element.
    (0xff20_e000, 0x6500_0000, Work::Packed),
    (0xff30_e000, 0x6500_8000, Work::Packed),
    (0xff20_0000, 0x6520_0000, Work::Packed),
    (0xff20_f000, 0x6420_0000, Work::Packed),
    (0xff20_fc00, 0x6420_2000, Work::Packed),
];

/// What an AArch64 instruction calculates.
pub fn of_arm(word: u32) -> Work {
    let group = ARM.iter().find(|(mask, value, _)| word & mask == *value);
    group.map_or(Work::Other, |g| g.2)
}

/// The arithmetic of the vertices of function number `function`. `owners` are sorted.
pub fn by_vertex(function: u32, flow: &Flow, owners: &[(u64, u64, u32)]) -> Vec<Arithmetic> {
    let mut out: BTreeMap<u32, Arithmetic> = BTreeMap::new();
    for (at, work) in &flow.arithmetic {
        let before = owners.partition_point(|o| o.0 <= *at).checked_sub(1);
        let owner = before.and_then(|i| owners.get(i)).filter(|o| *at < o.1);
        let vertex = owner.map_or(0, |o| o.2);
        let sum = out.entry(vertex).or_insert(Arithmetic {
            function,
            vertex,
            ..Default::default()
        });
        sum.all = sum.all.saturating_add(1);
        sum.packed = sum.packed.saturating_add(u32::from(*work == Work::Packed));
    }
    out.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_x86_instructions_say_what_they_calculate() {
        let packed = "Addps Vaddpd Mulpd Vfmadd231ps Vfnmsub132pd Vsqrtps Paddd Vpmulld Vrcp14ps Haddpd \
            Vaddph Psadbw Vpsrlq Vaddsubps Vmaxpd Pmaddwd";
        let scalar = "Addss Vaddsd Mulsd Vfmadd213sd Vsqrtss Divsd Vminsd Vrsqrt14ss Fadd Fmulp Vmulsh Vsubsd";
        let other = "Add Imul Movaps Vmovupd Xorps Pxor Pand Vpermilpd Cvtsi2sd Vcvtdq2pd Comisd Vbroadcastsd \
            Shufps Lea Fld Fstp Push Popcnt Cmppd Unpcklpd Andps Blendpd Vinsertf128 Vzeroupper";
        for (names, work) in [
            (packed, Work::Packed),
            (scalar, Work::Scalar),
            (other, Work::Other),
        ] {
            for name in names.split_whitespace() {
                assert_eq!(of_name(name), work, "{name}");
            }
        }
        assert_eq!(of_x86(Mnemonic::Vfmadd231pd), Work::Packed);
        assert_eq!(of_x86(Mnemonic::Addsd), Work::Scalar);
        assert_eq!(of_x86(Mnemonic::Mov), Work::Other);
    }
    #[test]
    fn words_of_aarch64_say_what_they_calculate() {
        let scalar = [0x1e62_2820, 0x1e22_0820, 0x1f42_0c20, 0x1e61_c020];
        let packed = [
            // fadd, fmla by vector and by element, add, mul, smull, addp, fsqrt.
            0x4e62_d420,
            0x4e22_cc20,
            0x4fc2_1020,
            0x4ea2_8420,
            0x4ea2_9c20,
            0x0e62_c020,
            0x4ea2_bc20,
            0x6ee1_f820, // SVE: fadd, fadd with a predicate, fmla, fmad, fmla and fmul by element.
            0x65c2_0020,
            0x65c0_8040,
            0x65e2_0020,
            0x65e2_8020,
            0x64e2_0020,
            0x64f2_2020,
        ];
        let other = [
            // mov and eor of vectors, scvtf, fcmp, fmov, dup, ldr, add and madd of general registers, fcsel, movi.
            0x4ea1_1c20,
            0x6e22_1c20,
            0x4e61_d820,
            0x1e61_2000,
            0x1e60_4020,
            0x4e08_0420,
            0x3dc0_0000,
            0x8b02_0020,
            0x9b02_0c20,
            0x1e62_0c20,
            0x4f00_0420,
            // ext, tbl, zip1, cmeq, fcmgt, ins; SVE: fcvt, scvtf, fcmgt.
            0x6e02_4020,
            0x4e02_0020,
            0x4e82_3820,
            0x6ea2_8c20,
            0x6ea2_e420,
            0x4e04_1c20,
            0x65ca_a020,
            0x65d6_a020,
            0x65c2_4030,
        ];
        for (words, work) in [
            (&scalar[..], Work::Scalar),
            (&packed[..], Work::Packed),
            (&other[..], Work::Other),
        ] {
            for word in words {
                assert_eq!(of_arm(*word), work, "{word:#010x}");
            }
        }
    }
}
