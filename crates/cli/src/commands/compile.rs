//! `cc`, `cxx`, `fc`: compile with clang or flang and the plugin that writes the program's structure (ScalAna, section
//! III-A).
//!
//! They become the MPI library's own compiler wrapper, which is told by its variables which compiler to call: so
//! arguments, output and exit code are those of the compiler. A plugin fits one version of LLVM alone. Its source is in this
//! program, and it is built once for each version with the compiler and headers that the user has.

use super::Outcome;
use crate::args::CompileArgs;
use headwater_load::cache_dir;
use headwater_model::hash::mix2;
use headwater_structure::PASS_SOURCE;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Versions of LLVM that the plugin is tested with, the preferred one first.
const VERSIONS: [u32; 2] = [22, 19];

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

/// `headwater cc`, `cxx` or `fc`.
pub fn command(args: &CompileArgs, of: Of) -> Outcome {
    let language = match of {
        Of::C => &C,
        Of::Cxx => &CXX,
        Of::Fortran => &FORTRAN,
    };
    let (compiler, plugin) = found(language)?;
    let wrapper = find(language.wrapper).ok_or_else(|| {
        format!(
            "{} is not in PATH: install the MPI library's compiler wrappers, or load its module",
            language.wrapper
        )
    })?;
    let mut command = Command::new(wrapper);
    for variable in language.variables {
        command.env(variable, &compiler);
    }
    let mut option = OsString::from("-fpass-plugin=");
    option.push(&plugin);
    // Where nothing is compiled but only linked, there is no use for a plugin.
    if args.arguments.iter().any(is_source) {
        command.arg(option);
    }
    let error = command.args(&args.arguments).exec();
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

/// The tool of LLVM's headers that says how to compile against them.
fn llvm_config(version: u32) -> Option<PathBuf> {
    let own = PathBuf::from(format!("/usr/lib/llvm-{version}/bin/llvm-config"));
    find(&format!("llvm-config-{version}")).or_else(|| own.is_file().then_some(own))
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

/// The plugin for a version, built if it is not in the cache.
fn plugin(version: u32, config: &Path) -> Result<PathBuf, String> {
    // Compilers run in other directories.
    let dir = cache_dir()
        .filter(|d| d.is_absolute())
        .ok_or("there is no place to keep the compiler's plugin: set HOME or XDG_CACHE_HOME to an absolute path")?;
    let flags = Command::new(config)
        .args(["--version", "--cxxflags"])
        .output()
        .map_err(|e| format!("cannot start {}: {e}", config.display()))?;
    if !flags.status.success() {
        return Err(format!(
            "{} fails: install llvm-{version}-dev again",
            config.display()
        ));
    }
    let flags = String::from_utf8_lossy(&flags.stdout).into_owned();
    // Another LLVM or another source is another plugin.
    let key = format!("{flags}{PASS_SOURCE}")
        .bytes()
        .fold(0, |key, byte| mix2(key, u64::from(byte)));
    let made = dir.join(format!("pass-{version}-{key:016x}.so"));
    if made.is_file() {
        return Ok(made);
    }
    let cannot = |e: std::io::Error| {
        format!(
            "cannot build the compiler's plugin in {}: {e}; set XDG_CACHE_HOME to a directory that can be written",
            dir.display()
        )
    };
    std::fs::create_dir_all(&dir).map_err(cannot)?;
    // Several may be building it: each has its own files, and the last one's is used.
    let own = |ending: &str| dir.join(format!("pass-{version}-{}.{ending}", std::process::id()));
    let (source, part) = (own("cpp"), own("part"));
    std::fs::write(&source, PASS_SOURCE).map_err(cannot)?;
    let compiler = find(&format!("clang++-{version}")).unwrap_or_else(|| PathBuf::from("c++"));
    let built = Command::new(&compiler)
        .args(["-fPIC", "-shared", "-fno-rtti", "-w"])
        .args(flags.lines().skip(1).flat_map(str::split_whitespace))
        .args(["-O2", "-o"])
        .args([&part, &source])
        .output();
    let _ = std::fs::remove_file(&source);
    let built = built.map_err(|e| format!("cannot start {}: {e}", compiler.display()))?;
    if !built.status.success() {
        let said = String::from_utf8_lossy(&built.stderr);
        let first = said
            .lines()
            .find(|l| l.contains("error"))
            .unwrap_or("it does not compile");
        return Err(format!(
            "the compiler's plugin cannot be built with {} for LLVM {version}: {}",
            compiler.display(),
            headwater_model::printable::printable(first)
        ));
    }
    std::fs::rename(&part, &made).map_err(cannot)?;
    Ok(made)
}

#[cfg(test)]
mod tests {
    use super::*;

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
