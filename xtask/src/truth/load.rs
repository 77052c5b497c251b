//! Other work on the machine, for the bench beside it: two busy loops and a disk writer.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The other work; it ends with this value.
#[derive(Debug)]
pub struct Load {
    children: Vec<Child>,
    file: PathBuf,
}

impl Load {
    /// Starts it where it is wanted.
    pub fn start(wanted: bool, place: &Path) -> Result<Self, String> {
        let file = place.join("written");
        // They end by themselves where the bench is killed.
        let busy = "while kill -0 $PPID 2>/dev/null; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done";
        let write = "while kill -0 $PPID 2>/dev/null; do \
                     dd if=/dev/zero of=\"$0\" bs=1M count=64 conv=fsync 2>/dev/null; done";
        let mut out = Self {
            children: Vec::new(),
            file,
        };
        for line in [busy, busy, write].iter().filter(|_| wanted) {
            let mut shell = Command::new("sh");
            shell.args(["-c", line]).arg(&out.file).stdin(Stdio::null());
            let child = shell
                .spawn()
                .map_err(|e| format!("cannot start other work: {e}"))?;
            out.children.push(child);
        }
        Ok(out)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = std::fs::remove_file(&self.file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_work_starts_where_it_is_wanted_and_ends_with_its_value() {
        let place = std::env::temp_dir();
        let none = Load::start(false, &place).expect("nothing to start");
        assert!(none.children.is_empty());
        let load = Load::start(true, &place).expect("three shells");
        let ids: Vec<u32> = load.children.iter().map(Child::id).collect();
        assert_eq!(ids.len(), 3);
        drop(load);
        let running = |id: &u32| Path::new(&format!("/proc/{id}")).exists();
        assert!(!ids.iter().any(running));
    }
}
