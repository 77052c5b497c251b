//! `cc`, `cxx`, `fc`: compile with clang or flang and the plugin that writes the program's structure (ScalAna, section
//! III-A).
//!
//! They become the MPI library's own compiler wrapper, which is told by its variables which compiler to call: so
//! arguments, output and exit code are those of the compiler. A plugin fits one version of LLVM alone. Its source is in this
//! program, and it is built once for each version with the compiler and headers that the user has.

mod f08;
mod modules;
mod plugin;

use super::Outcome;
use plugin::{VERSIONS, llvm_config, plugin};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// A language: how its compilers are called.
struct Language {
    /// Compilers, to be followed by the version.
    compilers: &'static [&'static str],
    /// The MPI library's wrapper.
    wrapper: &'static str,
    /// Variables that tell wrappers of MPI libraries which compiler to call.
    variables: &'static [&'static str],
    /// Debian's package, to be followed by the version.
    package: &'static str,
}

/// The languages.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    C,
    Cxx,
    Fortran,
}

const C: Language = Language {
    compilers: &["clang"],
    wrapper: "mpicc",
    variables: &["OMPI_CC", "MPICH_CC", "I_MPI_CC"],
    package: "clang",
};

const CXX: Language = Language {
    compilers: &["clang++"],
    wrapper: "mpicxx",
    variables: &["OMPI_CXX", "MPICH_CXX", "I_MPI_CXX"],
    package: "clang",
};

const FORTRAN: Language = Language {
    compilers: &["flang-new", "flang"],
    wrapper: "mpif90",
    variables: &["OMPI_FC", "MPICH_FC", "MPICH_F90", "I_MPI_FC", "I_MPI_F90"],
    package: "flang",
};

/// The compiler that a command line of ours is for, and its arguments: all behind its name, untouched, because compilers have
/// options that read like ours. `None` if it is for none, or asks for our help.
pub fn asked(command_line: impl IntoIterator<Item = OsString>) -> Option<(Of, Vec<OsString>)> {
    let mut words = command_line.into_iter().skip(1);
    let of = match words.next()?.to_str()? {
        "cc" => Of::C,
        "cxx" => Of::Cxx,
        "fc" => Of::Fortran,
        _ => return None,
    };
    let arguments: Vec<OsString> = words.collect();
    let helps = ["-h", "--help"].map(OsString::from);
    let is_ours = match &*arguments {
        [] => true,
        [one] => helps.contains(one),
        _ => false,
    };
    (!is_ours).then_some((of, arguments))
}

/// For which versions of LLVM there is all that the plugin needs: compilers of C, and headers.
pub fn versions_here() -> Vec<u32> {
    let has = |version: &u32| {
        find(&format!("clang-{version}")).is_some() && llvm_config(*version).is_some()
    };
    VERSIONS.into_iter().filter(has).collect()
}

/// What to install for the plugin.
pub fn what_it_needs() -> String {
    let version = VERSIONS[VERSIONS.len() - 1];
    format!("install clang-{version} and llvm-{version}-dev, for Fortran flang-{version}, too")
}

/// `headwater cc`, `cxx` or `fc`, with the compiler's arguments.
pub fn command(arguments: &[OsString], of: Of) -> Outcome {
    let language = match of {
        Of::C => &C,
        Of::Cxx => &CXX,
        Of::Fortran => &FORTRAN,
    };
    let (compiler, plugin) = found(language)?;
    let program = find(language.wrapper).ok_or_else(|| {
        format!(
            "{} is not in PATH: install the MPI library's compiler wrappers, or load its module",
            language.wrapper
        )
    })?;
    let mut command = Command::new(&program);
    for variable in language.variables {
        command.env(variable, &compiler);
    }
    let mut option = OsString::from("-fpass-plugin=");
    option.push(&plugin);
    // Where nothing is compiled but only linked, there is no use for a plugin.
    let compiles = arguments.iter().any(is_source);
    if compiles {
        command.arg(option);
    }
    command.args(arguments);
    if compiles && matches!(of, Of::Fortran) {
        let wrapper = modules::Wrapper {
            program: &program,
            compiler: &compiler,
            variables: language.variables,
        };
        // Behind the user's directories, and before those that the wrapper adds.
        command.args(modules::option(&wrapper, arguments)?);
    }
    let error = command.exec();
    Err(format!("cannot start {}: {error}", language.wrapper).into())
}

/// Endings of source text.
const SOURCES: [&str; 31] = [
    "c", "cc", "cp", "cpp", "CPP", "cxx", "CXX", "c++", "C", "f", "f77", "f90", "f95", "f03",
    "f08", "for", "ftn", "fpp", "F", "F77", "F90", "F95", "F03", "F08", "FOR", "FTN", "FPP", "i",
    "ii", "ll", "bc",
];

/// Bytes of a response file that are looked at.
const LONGEST: usize = 1 << 20;

/// Whether an argument names source text, or a request about the command line itself. A response file has arguments.
fn is_source(argument: &OsString) -> bool {
    let text = argument.to_string_lossy();
    if let Some(file) = text.strip_prefix('@') {
        let bytes = std::fs::read(file).unwrap_or_default();
        let text = String::from_utf8_lossy(bytes.get(..LONGEST).unwrap_or(&bytes)).into_owned();
        let mut words = text.split_whitespace();
        return words.any(|w| is_source_word(w.trim_matches(['"', '\''])));
    }
    is_source_word(&text)
}

fn is_source_word(text: &str) -> bool {
    let ending = text.rsplit_once('.').map(|(_, e)| e);
    // `-x` names the language of files with any ending.
    !text.starts_with('-') && ending.is_some_and(|e| SOURCES.contains(&e))
        || text == "-"
        || text.starts_with("-x")
        || text.starts_with("-show")
        || text.starts_with("--showme")
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|d| d.join(program))
        .find(|p| p.is_file())
}

/// The compiler and the plugin that fits it.
fn found(language: &Language) -> Result<(PathBuf, PathBuf), String> {
    let wanted = std::env::var("HEADWATER_LLVM").ok();
    let wanted = match wanted.as_deref().map(str::parse::<u32>) {
        Some(Ok(version)) => Some(version),
        Some(Err(_)) => {
            return Err("HEADWATER_LLVM is no version of LLVM: set it to a number, as 19".into());
        }
        None => None,
    };
    let versions: Vec<u32> = wanted.map_or_else(|| VERSIONS.to_vec(), |v| vec![v]);
    let mut failed = None;
    for version in &versions {
        let named = language.compilers.iter();
        let compiler = named
            .map(|c| format!("{c}-{version}"))
            .find_map(|c| find(&c));
        let config = llvm_config(*version);
        if let (Some(compiler), Some(config)) = (compiler, config) {
            match plugin(*version, &config) {
                Ok(plugin) => return Ok((compiler, plugin)),
                // Another version may do.
                Err(message) => failed = failed.or(Some(message)),
            }
        }
    }
    if let Some(message) = failed {
        return Err(message);
    }
    let version = versions.last().copied().unwrap_or(19);
    Err(format!(
        "{} with LLVM's headers is missing: install {}-{version} and llvm-{version}-dev (versions {} are known to work; HEADWATER_LLVM chooses one)",
        language.compilers.first().unwrap_or(&"clang"),
        language.package,
        VERSIONS.map(|v| v.to_string()).join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_of_compilers_are_theirs() {
        let asked = |words: &[&str]| {
            let words = words.iter().map(OsString::from);
            asked(words).map(|(of, all)| (format!("{of:?}"), all))
        };
        let all = ["-q", "--", "-c", "a b.c", "--help"];
        let given = [&["headwater", "cxx"][..], &all].concat();
        let found = asked(&given).expect("a compiler");
        assert_eq!(found, ("Cxx".into(), all.map(OsString::from).to_vec()));
        for ours in [
            &["headwater", "cc"][..],
            &["headwater", "fc", "--help"],
            &["headwater", "run", "cc"],
        ] {
            assert_eq!(asked(ours), None, "{ours:?}");
        }
    }

    #[test]
    fn sources_are_known_by_ending_language_and_response_file() {
        let is = |text: &str| is_source(&OsString::from(text));
        for text in [
            "a.c",
            "a.FOR",
            "a.CPP",
            "a.ftn",
            "-",
            "-xc++",
            "-x",
            "--showme:command",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "a.o",
            "liba.a",
            "-lm",
            "-o",
            "app",
            "-DFILE=a.c",
            "@missing",
        ] {
            assert!(!is(text), "{text}");
        }
        let dir = tempfile::tempdir().expect("a temporary directory");
        let file = dir.path().join("arguments");
        std::fs::write(&file, "-c 'a.c'\n-O2").expect("writes");
        assert!(is(&format!("@{}", file.display())));
        std::fs::write(&file, "a.o -o app").expect("writes");
        assert!(!is(&format!("@{}", file.display())));
    }
}
