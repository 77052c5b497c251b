//! The compiler's plugin: which versions of LLVM it is for, and how it is built.

use super::find;
use headwater_load::cache_dir;
use headwater_model::hash::mix2;
use headwater_structure::pass_source;
use rustix::fs::{FlockOperation, flock};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Versions of LLVM that the plugin is tested with, the preferred one first.
pub const VERSIONS: [u32; 2] = [22, 19];

/// The tool of LLVM's headers that says how to compile against them.
pub fn llvm_config(version: u32) -> Option<PathBuf> {
    let own = PathBuf::from(format!("/usr/lib/llvm-{version}/bin/llvm-config"));
    find(&format!("llvm-config-{version}")).or_else(|| own.is_file().then_some(own))
}

/// What changes with an installation: where its tool is, its size and its age.
pub fn installed(config: &Path) -> String {
    let config = config
        .canonicalize()
        .unwrap_or_else(|_| config.to_path_buf());
    let about = std::fs::metadata(&config).ok();
    let age = about.as_ref().and_then(|m| m.modified().ok());
    format!("{} {:?} {age:?} ", config.display(), about.map(|m| m.len()))
}

/// A number that another text would hardly have. It is computed for each source that is compiled, so by eight bytes at once.
pub fn key_of(before: u64, text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(before, |key, part| {
        let mut bytes = [0; 8];
        bytes
            .iter_mut()
            .zip(part)
            .for_each(|(to, from)| *to = *from);
        mix2(key, u64::from_le_bytes(bytes))
    })
}

/// The plugin for a version, built if it is not in the cache.
pub fn plugin(version: u32, config: &Path) -> Result<PathBuf, String> {
    // Compilers run in other directories.
    let dir = cache_dir()
        .filter(|d| d.is_absolute())
        .ok_or("there is no place to keep the compiler's plugin: set HOME or XDG_CACHE_HOME to an absolute path")?;
    // Another LLVM or another source is another plugin. Asking LLVM's tool each time would take longer than many a
    // source takes to compile.
    let key = key_of(key_of(0, &installed(config)), pass_source());
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
    // With `make -j` many want it at once: the first one builds it, and the others wait. Where the file system has no
    // locks, each builds its own, and the last one's is used.
    let lock = std::fs::File::create(dir.join("pass.lock")).map_err(cannot)?;
    let _ = flock(&lock, FlockOperation::LockExclusive);
    if made.is_file() {
        return Ok(made);
    }
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
    let own = |ending: &str| dir.join(format!("pass-{version}-{}.{ending}", std::process::id()));
    let (source, part) = (own("cpp"), own("part"));
    std::fs::write(&source, pass_source()).map_err(cannot)?;
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
