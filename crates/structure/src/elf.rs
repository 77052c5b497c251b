//! ELF: sections, function symbols, and the names behind PLT stubs and GOT slots.

use crate::error::StructureError;
use object::read::elf::ElfFile64;
use object::{
    Architecture, Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionKind,
    SymbolKind,
};
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;

/// Processors whose code is understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// x86-64
    X86,
    /// AArch64
    Arm,
}

/// A mapped section of code or read-only data.
pub struct Section<'a> {
    /// Address in the file's own numbering.
    pub address: u64,
    /// Contents.
    pub data: Cow<'a, [u8]>,
    /// Whether it holds code.
    pub code: bool,
    /// Name.
    pub name: String,
}

/// An ELF file taken apart.
pub struct Image<'a> {
    /// The parsed file.
    pub file: ElfFile64<'a, Endianness>,
    /// Processor.
    pub machine: Machine,
    /// Sections with contents, sorted by address.
    pub sections: Vec<Section<'a>>,
    /// Names of functions that GOT slots point to.
    pub got: FxHashMap<u64, String>,
    /// Addresses in this module that the loader writes into slots, sorted by slot.
    relocated: Vec<(u64, u64)>,
    /// GNU build id in hexadecimal, or empty.
    pub build_id: String,
}

/// A function as symbols or unwind tables list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Start.
    pub address: u64,
    /// Bytes; 0 where unknown.
    pub size: u64,
    /// Name in the symbol table, or `None`.
    pub name: Option<String>,
}

/// Maps a file for reading.
#[allow(unsafe_code)]
pub fn map(path: &Path) -> Result<memmap2::Mmap, StructureError> {
    let io = |source| StructureError::Io {
        path: path.to_path_buf(),
        source,
    };
    let not_elf = |why: String| StructureError::NotElf {
        path: path.to_path_buf(),
        why,
    };
    let (file, length) = headwater_files::open(path).map_err(|e| match e.kind() {
        ErrorKind::IsADirectory | ErrorKind::InvalidInput => not_elf(e.to_string()),
        _ => io(e),
    })?;
    if length == 0 {
        return Err(not_elf("it is empty".to_string()));
    }
    // SAFETY: the map is only read; a file that is changed meanwhile gives wrong bytes, which every
    // reader here checks, or a signal if it is cut, as for every program that maps executables.
    unsafe { memmap2::Mmap::map(&file) }.map_err(io)
}

impl<'a> Image<'a> {
    /// Takes `bytes` apart.
    pub fn parse(path: &Path, bytes: &'a [u8]) -> Result<Self, StructureError> {
        let not_elf = |why: String| StructureError::NotElf {
            path: path.to_path_buf(),
            why,
        };
        let file = ElfFile64::<Endianness>::parse(bytes).map_err(|e| not_elf(e.to_string()))?;
        let machine = match file.architecture() {
            Architecture::X86_64 => Machine::X86,
            Architecture::Aarch64 => Machine::Arm,
            other => {
                return Err(StructureError::UnknownMachine {
                    path: path.to_path_buf(),
                    machine: format!("{other:?}"),
                });
            }
        };
        let mut sections: Vec<Section<'a>> = file
            .sections()
            .filter(|s| s.address() != 0)
            .filter_map(|s| {
                let code = s.kind() == SectionKind::Text;
                let data = Cow::Borrowed(s.data().ok()?);
                Some(Section {
                    address: s.address(),
                    data,
                    code,
                    name: s.name().unwrap_or("").to_string(),
                })
            })
            .filter(|s| !s.data.is_empty())
            .collect();
        sections.sort_by_key(|s| s.address);
        let id = file.build_id().ok().flatten().unwrap_or(&[]);
        let build_id = crate::debug::hex(id);
        let (got, relocated) = slots(&file);
        Ok(Self {
            file,
            machine,
            sections,
            got,
            relocated,
            build_id,
        })
    }

    /// Bytes from `address` to the end of its section.
    pub fn bytes_at(&self, address: u64) -> Option<&[u8]> {
        let after = self.sections.partition_point(|s| s.address <= address);
        let section = after.checked_sub(1).map(|i| &self.sections[i])?;
        section
            .data
            .get(usize::try_from(address - section.address).ok()?..)
            .filter(|b| !b.is_empty())
    }

    /// The address in this module that the loader writes into `slot`.
    pub fn relocated(&self, slot: u64) -> Option<u64> {
        let at = self.relocated.binary_search_by_key(&slot, |r| r.0).ok()?;
        self.relocated.get(at).map(|r| r.1)
    }

    /// The section of code that holds `address`; not one with stubs of the linker.
    pub fn code_at(&self, address: u64) -> Option<&Section<'a>> {
        let after = self.sections.partition_point(|s| s.address <= address);
        let section = self.sections.get(after.checked_sub(1)?)?;
        (section.code && !section.is_stubs() && address < section.end()).then_some(section)
    }
}

impl Section<'_> {
    /// First address behind it.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.data.len() as u64)
    }

    /// Whether it holds the linker's stubs.
    pub fn is_stubs(&self) -> bool {
        let name = self.name.as_str();
        matches!(name, ".plt" | ".plt.got" | ".plt.sec" | ".init" | ".fini")
    }
}

/// Functions of a file's symbol tables.
pub fn symbols<'d>(file: &impl Object<'d>) -> Vec<Symbol> {
    let all = file.symbols().chain(file.dynamic_symbols());
    all.filter(|s| s.is_definition() && s.kind() == SymbolKind::Text && s.address() != 0)
        .filter_map(|s| {
            Some(Symbol {
                address: s.address(),
                size: s.size(),
                name: Some(s.name().ok()?.to_string()),
            })
        })
        .collect()
}

/// What the loader writes: names of functions by GOT slot, and addresses in this module by slot.
fn slots(file: &ElfFile64<'_, Endianness>) -> (FxHashMap<u64, String>, Vec<(u64, u64)>) {
    let (mut names, mut addresses) = (FxHashMap::default(), Vec::new());
    let symbols = file.dynamic_symbol_table();
    for (slot, relocation) in file.dynamic_relocations().into_iter().flatten() {
        let RelocationTarget::Symbol(index) = relocation.target() else {
            addresses.push((slot, relocation.addend() as u64));
            continue;
        };
        let symbol = symbols
            .as_ref()
            .and_then(|t| object::ObjectSymbolTable::symbol_by_index(t, index).ok());
        let name = symbol.and_then(|s| s.name().ok().map(str::to_string));
        if let Some(name) = name.filter(|n| !n.is_empty()) {
            names.insert(slot, name);
        }
    }
    addresses.sort_unstable();
    (names, addresses)
}
