//! What the numbers of a trace are called: fields and constants from the table of MPI, places from the binaries.

use headwater_graph::is_runtime_library;
use headwater_model::psg::ModuleStructure;
use headwater_model::run::python;
use headwater_mpi_abi::constants::{
    ABSENT, ANY_SOURCE, ANY_TAG, CURRENT, DEFAULT, NULL, PROC_NULL, ROOT, UNDEFINED, UNKNOWN,
    buffer, names,
};
use headwater_mpi_abi::{Field, Kind, fields, id_of, predefined};
use headwater_structure::{Options, analyse};
use headwater_trace::text::Names;
use headwater_trace::trace::Frame;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::Path;

/// Names of MPI, and places in the program.
#[derive(Default)]
pub struct MpiNames {
    modules: RefCell<HashMap<String, Option<ModuleStructure>>>,
}

fn field(function: &str, position: usize) -> Option<&'static Field> {
    fields(id_of(function)?.0).get(position)
}

/// Whether negative values are numbers like others.
fn is_number(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Int | Kind::Count | Kind::Size | Kind::Offset | Kind::Received
    )
}

impl Names for MpiNames {
    fn field(&self, function: &str, position: usize) -> Option<String> {
        field(function, position).map(|field| field.name.to_owned())
    }

    fn communicator(&self, number: i64) -> Option<String> {
        predefined(Kind::Comm, number).map(|known| known.name.to_owned())
    }

    fn value(&self, function: &str, position: usize, value: i64) -> Option<String> {
        let kind = field(function, position)?.kind;
        let name = match value {
            ABSENT => "",
            _ if is_number(kind) => return None,
            buffer::MEMORY if kind == Kind::Buffer => "",
            buffer::IN_PLACE if kind == Kind::Buffer => "MPI_IN_PLACE",
            buffer::BOTTOM if kind == Kind::Buffer => "MPI_BOTTOM",
            NULL => "null",
            UNKNOWN => "unknown",
            PROC_NULL => "none",
            ANY_SOURCE | ANY_TAG => "any",
            ROOT => "root",
            UNDEFINED => "undefined",
            CURRENT => "current",
            DEFAULT => "default",
            _ => {
                if let Some(known) = predefined(kind.handle(), value) {
                    return Some(known.name.to_owned());
                }
                let names: Vec<&str> = names(kind, value).collect();
                return (!names.is_empty()).then(|| names.join("|"));
            }
        };
        Some(name.to_owned())
    }

    fn belongs_to_caller(&self, module: &str) -> bool {
        let file = python::function_of_trace(module).map_or(module, |(file, _)| file);
        is_runtime_library(file)
    }

    fn place(&self, module: &str, frame: Frame) -> Option<String> {
        if let Some(place) = python::place_in_trace(module, frame.offset) {
            return Some(place);
        }
        // Those of the system have no lines, and it takes long to find that out.
        if ["/lib", "/usr/lib"].iter().any(|at| module.starts_with(at)) {
            return None;
        }
        let mut modules = self.modules.borrow_mut();
        let structure = modules.entry(module.to_owned()).or_insert_with(|| {
            let options = Options::default();
            analyse(Path::new(module), &options).ok()
        });
        let structure = structure.as_ref()?;
        // A caller's offset is behind its call.
        let address = frame.offset.saturating_sub(1);
        let function = structure
            .locate(address)
            .and_then(|(function, _)| structure.functions.get(function))
            .map(|function| structure.string(function.name));
        let line = structure.line(address).map(|(file, line)| {
            let name = file.rsplit('/').next().unwrap_or(file);
            format!("{name}:{line}")
        });
        match (line, function) {
            (Some(line), Some(function)) => Some(format!("{line} {function}")),
            (Some(line), None) => Some(line),
            (None, Some(function)) => Some(function.to_owned()),
            (None, None) => None,
        }
    }
}
