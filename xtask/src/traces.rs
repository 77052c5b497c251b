//! Sizes of traces: of the communication of known benchmarks on 4, 16 and 64 ranks, and of few and many time steps.
//!
//! What other tracers take is for the real benchmarks of class S (their communication is what the skeletons have).

use crate::mpi::Mpi;
use crate::request::Request;
use crate::setup;
use crate::shell::{Done, HANGING, output, root, within};
use crate::skeletons::{self, Skeleton};
use std::path::Path;
use std::process::Command;

/// Bytes that Pilgrim and ScalaTrace II take on 16 ranks, class S. Pilgrim keeps no call paths and no times.
const OTHERS: [(&str, u64, u64); 6] = [
    ("cg", 4_772, 56_100),
    ("lu", 6_948, 217_678),
    ("mg", 12_854, 314_398),
    ("sp", 19_192, 82_737),
    ("bt", 58_180, 110_793),
    ("is", 20_660, 40_092),
];

/// Records and prints.
pub fn command(arguments: &[String]) -> Done {
    let request = Request::parse(arguments)?;
    setup::build()?;
    println!("bytes of traces with call paths and times, one recording each:");
    println!(
        "program      4 ranks  16 ranks  64 ranks  64/4   half of Pilgrim's at 16  ScalaTrace II's"
    );
    for (skeleton, program) in skeletons::build(&request)? {
        match OTHERS.iter().find(|(name, ..)| *name == skeleton.name) {
            Some((name, pilgrim, scalatrace)) => {
                let sizes: Vec<u64> = (skeleton.ranks.iter())
                    .map(|ranks| size(&program, *ranks, skeleton.arguments[0]))
                    .collect::<Result<_, _>>()?;
                let [few, some, many] = sizes[..] else {
                    continue;
                };
                let growth = many as f64 / few as f64;
                let half = pilgrim / 2;
                println!(
                    "{name:10} {few:9} {some:9} {many:9} {growth:5.2} {half:25} {scalatrace:16}"
                );
            }
            None => steps(skeleton, &program)?,
        }
    }
    println!("merging generated traces along the tree, as its root sees it:");
    let merged = Command::new("cargo")
        .args([
            "run",
            "--release",
            "--quiet",
            "-p",
            "headwater-trace",
            "--example",
            "merge",
        ])
        .current_dir(root())
        .output();
    let merged = merged.map_err(|e| e.to_string())?;
    print!("{}", String::from_utf8_lossy(&merged.stdout));
    Ok(())
}

/// The sizes for all arguments of a program, on 4 ranks.
fn steps(skeleton: &Skeleton, program: &Path) -> Done {
    let sizes: Vec<String> = (skeleton.arguments.iter())
        .map(|arguments| Ok(format!("{arguments}: {}", size(program, 4, arguments)?)))
        .collect::<Result<_, String>>()?;
    println!(
        "{:10} 4 ranks, by arguments: {}",
        skeleton.name,
        sizes.join(", ")
    );
    Ok(())
}

/// Bytes of the trace of a run.
fn size(program: &Path, ranks: u32, arguments: &str) -> Result<u64, String> {
    let out = setup::target().join("bench-trace");
    let _ = std::fs::remove_dir_all(&out);
    let launch = Mpi::Open.mpirun(ranks)?;
    let mut record = setup::record(&launch, &out);
    record.env("HEADWATER_TRACE", "1");
    record.arg(program).args(arguments.split_whitespace());
    output(&mut within(HANGING, &record))?;
    let file = out.join("trace.hwtr");
    let length = std::fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?;
    Ok(length.len())
}
