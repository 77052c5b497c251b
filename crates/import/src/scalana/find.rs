//! Finds the files of ScalAna's artifact in a directory, and directories with them.

use crate::ImportError;
use headwater_model::scalana::EXTRA;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Ranks of a scale at the most.
const MOST_RANKS: u32 = 1 << 20;

/// Files of ranks, by the rank in their names.
type ByRank = BTreeMap<u32, PathBuf>;

/// The files of one scale.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Where they are.
    pub dir: PathBuf,
    /// Ranks of the scale: one more than the largest, or the number that the directory is named.
    pub ranks: u32,
    pub(super) stats: ByRank,
    pub(super) logs: ByRank,
    pub(super) stacks: ByRank,
    pub(super) out: Option<PathBuf>,
    pub(super) functions: Option<PathBuf>,
    pub(super) extra: Option<PathBuf>,
}

/// The rank in a name between a beginning and an ending.
fn rank(name: &str, begins: &str, ends: &str) -> Option<u32> {
    let rank: u32 = name
        .strip_prefix(begins)?
        .strip_suffix(ends)?
        .parse()
        .ok()?;
    (rank < MOST_RANKS).then_some(rank)
}

impl Files {
    /// The files in `dir`; `None` where no rank has samples.
    ///
    /// # Errors
    /// Two files of one rank; samples that have no places yet.
    pub fn of(dir: &Path) -> Result<Option<Self>, ImportError> {
        let mut this = Self {
            dir: dir.to_path_buf(),
            ..Default::default()
        };
        let mut raw = None;
        let listing = std::fs::read_dir(dir).map_err(ImportError::io(dir))?;
        let mut paths: Vec<PathBuf> = listing.filter_map(|e| Some(e.ok()?.path())).collect();
        paths.sort();
        for path in paths {
            let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
                continue;
            };
            let of_rank = [
                (rank(name, "stat", ".txt"), &mut this.stats),
                (
                    rank(name, "LOG", ".TXT").or(rank(name, "LOG", ".txt")),
                    &mut this.logs,
                ),
                (
                    rank(name, "SAMPLE", ".TXT-symb").or(rank(name, "SAMPLE", ".txt-symb")),
                    &mut this.stacks,
                ),
            ];
            for (rank, files) in of_rank {
                let known = rank.and_then(|rank| files.insert(rank, path.clone()));
                if let Some(known) = known {
                    let why = format!("it is of the same rank as {}", known.display());
                    return Err(ImportError::unsupported(&path, why));
                }
            }
            if rank(name, "SAMPLE", ".TXT")
                .or(rank(name, "SAMPLE", ".txt"))
                .is_some()
            {
                raw.get_or_insert(path);
            }
        }
        if this.stats.is_empty() && this.stacks.is_empty() {
            return match raw {
                Some(path) => Err(ImportError::unsupported(
                    &path,
                    "it has addresses without their places in the source; run ScalAna's parse.sh first, which writes SAMPLE<rank>.TXT-symb",
                )),
                None => Ok(None),
            };
        }
        // The structure is the same in all scales, and may be beside them.
        let beside = |name: &str| {
            let places = [Some(dir), dir.parent()];
            let files = places.into_iter().flatten().map(|d| d.join(name));
            files.into_iter().find(|f| f.is_file())
        };
        this.out = beside("out.txt");
        this.functions = beside("in.txt");
        this.extra = beside(EXTRA);
        let last = this.present().last().map_or(0, |r| r + 1);
        let named = dir.file_name().and_then(|n| n.to_str()?.parse().ok());
        let named: u32 = named.filter(|n| *n <= MOST_RANKS).unwrap_or(0);
        this.ranks = last.max(named);
        Ok(Some(this))
    }

    /// Ranks that have samples.
    pub fn present(&self) -> Vec<u32> {
        let all: BTreeSet<u32> = (self.stats.keys())
            .chain(self.stacks.keys())
            .copied()
            .collect();
        all.into_iter().collect()
    }
}

/// The scales in `path`: itself, or the directories in it. Empty where there are none.
///
/// # Errors
/// As [`Files::of`].
pub fn scales(path: &Path) -> Result<Vec<Files>, ImportError> {
    if !path.is_dir() {
        return Ok(Vec::new());
    }
    if let Some(files) = Files::of(path)? {
        return Ok(vec![files]);
    }
    let listing = std::fs::read_dir(path).map_err(ImportError::io(path))?;
    let mut dirs: Vec<PathBuf> = listing.filter_map(|e| Some(e.ok()?.path())).collect();
    dirs.retain(|d| d.is_dir());
    dirs.sort();
    let mut all = Vec::new();
    for dir in dirs {
        all.extend(Files::of(&dir)?);
    }
    all.sort_by_key(|f| f.ranks);
    Ok(all)
}
