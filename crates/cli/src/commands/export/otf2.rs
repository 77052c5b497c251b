//! Writes an OTF2 archive of a whole-run trace.

use super::whole::{Directory, Failed};
use crate::commands::simulate::structures;
use crate::progress::Progress;
use headwater_export::ExportError;
use headwater_export::whole::otf2::{self, Code, Otf2};
use headwater_graph::is_runtime_library;
use headwater_model::psg::ModuleStructure;
use headwater_model::run::python;
use headwater_simulate::Network;
use headwater_trace::trace::{Frame, Trace};
use headwater_virtual_run::Recorded;
use std::collections::BTreeMap;
use std::io;

/// Writes the archive; returns sentences about what is not in it.
pub fn write(
    trace: &Trace,
    recorded: &Recorded<'_>,
    simulated: Option<&Network>,
    target: &Directory,
    progress: Progress,
) -> Result<Vec<String>, Failed> {
    let modules = structures(trace, None, progress);
    let code = |frame: &Frame| code_of(trace, &modules, frame);
    let stage = progress.stage("reading threads", recorded.streams().len());
    let all = Otf2::new(trace, recorded, program(trace), &code, || stage.step());
    drop(stage);
    let mut all = all.map_err(Failed::Trace)?;
    let failed = |e: ExportError| match e {
        ExportError::Write(e) => target.failed(&e),
        e => Failed::Trace(e),
    };
    target.directory(otf2::LOCATIONS)?;
    let file = |location: u32, ending: &str| format!("{}/{location}.{ending}", otf2::LOCATIONS);
    let mut sink = |location: u32, bytes: &[u8]| target.append(&file(location, "evt"), bytes);
    if let Some(network) = simulated {
        let stage = progress.stage("simulating and writing", 0);
        all.simulated(network, &mut sink).map_err(failed)?;
        drop(stage);
    } else {
        let stage = progress.stage("writing threads", all.locations() as usize);
        for location in 0..all.locations() {
            all.recorded(location, &mut sink).map_err(failed)?;
            stage.step();
        }
    }
    let append = |name: &str, bytes: &[u8]| -> io::Result<()> { target.append(name, bytes) };
    let rest = (|| {
        for location in 0..all.locations() {
            append(&file(location, "def"), &otf2::no_definitions())?;
        }
        let anchor = all.definitions(&mut |bytes| append(otf2::DEFINITIONS, bytes))?;
        Ok(append(otf2::ANCHOR, &anchor)?)
    })();
    rest.map_err(failed)?;
    drop(all);
    let notes = recorded.notes();
    let missing = notes.iter().filter_map(|(note, count)| {
        let what = otf2::missing(note)?;
        Some(format!("not in the archive: {what} ({count} times)"))
    });
    let mut missing: Vec<String> = missing.collect();
    if simulated.is_none() {
        missing.push(
            "times are means, so a message may arrive before it was sent; --simulated has no such error"
                .to_string(),
        );
    }
    Ok(missing)
}

/// The outermost module that a call path goes through and that is the program's own.
fn program(trace: &Trace) -> Option<String> {
    let frames = trace.signatures.values().flat_map(|s| &s.frames);
    let paths = frames.filter_map(|f| trace.modules.get(&f.module));
    let mut files =
        paths.map(|p| python::function_of_trace(p).map_or(p.as_str(), |(file, _)| file));
    let own = files.find(|path| !is_runtime_library(path));
    own.map(str::to_string)
}

fn code_of(
    trace: &Trace,
    modules: &BTreeMap<String, ModuleStructure>,
    frame: &Frame,
) -> Option<Code> {
    let module = trace.modules.get(&frame.module)?;
    if let Some((file, function)) = python::function_of_trace(module) {
        return Some(Code {
            name: function.to_string(),
            file: file.to_string(),
            lines: (0, 0),
            is_mpi: false,
        });
    }
    let structure = modules.get(module)?;
    // Frames are return addresses.
    let (function, _) = structure.locate(frame.offset.checked_sub(1)?)?;
    let function = structure.functions.get(function)?;
    let whole = function.vertices.first();
    let file = whole.and_then(|v| v.file);
    Some(Code {
        name: structure.string(function.name).to_string(),
        file: file.map_or("", |f| structure.string(f)).to_string(),
        lines: whole.map_or((0, 0), |v| (v.first_line, v.last_line)),
        is_mpi: false,
    })
}
