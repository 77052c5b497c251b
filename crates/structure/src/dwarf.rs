//! Lines and inlined functions from DWARF 4 and 5.

use crate::debug::Split;
use crate::elf::Image;
use gimli::{
    AttributeValue, DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, LittleEndian,
    Unit, UnitOffset,
};
use object::{Object, ObjectSection};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// A row of the line table; `file` is an index into [`Info::files`], `u32::MAX` ends a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// First address.
    pub address: u64,
    /// File.
    pub file: u32,
    /// Line.
    pub line: u32,
}

/// An inlined function at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inline {
    /// Its code.
    pub ranges: Vec<(u64, u64)>,
    /// The one around it, which comes before it.
    pub outer: Option<usize>,
    /// Its name.
    pub name: String,
}

/// What debug information says of a function.
#[derive(Clone, Debug, Default)]
pub struct Subprogram {
    /// Line of its declaration, 0 where unknown.
    pub line: u32,
    /// Inlined functions, outer before inner.
    pub inlines: Vec<Inline>,
}

/// All debug information of a module.
#[derive(Debug, Default)]
pub struct Info {
    /// Source files.
    pub files: Vec<String>,
    /// Lines, sorted by address.
    pub rows: Vec<Row>,
    /// Functions by the address of their code.
    pub functions: FxHashMap<u64, Subprogram>,
    /// Whether there was any.
    pub present: bool,
    /// Units whose functions are in files of their own (`.dwo`), which are not read.
    pub elsewhere: usize,
}

fn sections<'f>(file: &'f object::File<'_>) -> Option<DwarfSections<Cow<'f, [u8]>>> {
    let load = |id: gimli::SectionId| -> Result<Cow<'f, [u8]>, gimli::Error> {
        Ok(file
            .section_by_name(id.name())
            .and_then(|s| s.uncompressed_data().ok())
            .unwrap_or(Cow::Borrowed(&[])))
    };
    DwarfSections::load(load).ok()
}

/// Reads the debug information of a module, from its split files where it has them.
pub fn read(image: &Image<'_>, split: &Split) -> Info {
    let own = split.own.as_ref().map(|m| &m[..]);
    let Ok(file) = object::File::parse(own.unwrap_or_else(|| image.file.data())) else {
        return Info::default();
    };
    let shared = split
        .shared
        .as_ref()
        .and_then(|m| object::File::parse(&m[..]).ok());
    let (Some(main), extra) = (sections(&file), shared.as_ref().and_then(sections)) else {
        return Info::default();
    };
    let mut dwarf = main.borrow(slice);
    if let Some(extra) = &extra {
        dwarf.set_sup(extra.borrow(slice));
    }
    collect(&dwarf)
}

#[allow(clippy::ptr_arg)] // the borrowing interface hands out just this type
fn slice<'a>(section: &'a Cow<'_, [u8]>) -> Slice<'a> {
    EndianSlice::new(section, LittleEndian)
}

fn collect(dwarf: &Dwarf<Slice<'_>>) -> Info {
    let mut headers = Vec::new();
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        headers.push(header);
    }
    let parts: Vec<Part> = headers
        .par_iter()
        .filter_map(|h| dwarf.unit(*h).ok())
        .map(|unit| part(dwarf, &unit))
        .collect();
    let mut info = Info {
        present: !parts.is_empty(),
        elsewhere: parts.iter().filter(|p| p.elsewhere).count(),
        ..Default::default()
    };
    let mut known: FxHashMap<String, u32> = FxHashMap::default();
    for part in parts {
        let renumber: Vec<u32> = part
            .files
            .into_iter()
            .map(|file| {
                let next = info.files.len() as u32;
                *known.entry(file).or_insert_with_key(|f| {
                    info.files.push(f.clone());
                    next
                })
            })
            .collect();
        let file = |f: u32| renumber.get(f as usize).copied().unwrap_or(u32::MAX);
        info.rows.extend(part.rows.into_iter().map(|r| Row {
            file: file(r.file),
            ..r
        }));
        for (address, function) in part.functions {
            info.functions.entry(address).or_insert(function);
        }
    }
    // Of rows for one address the last counts, but an end only where nothing begins.
    info.rows.sort_by_key(|r| (r.address, r.file != u32::MAX));
    info.rows.dedup_by(|next, kept| {
        let same = next.address == kept.address;
        if same {
            *kept = *next;
        }
        same
    });
    info
}

#[derive(Default)]
struct Part {
    files: Vec<String>,
    rows: Vec<Row>,
    functions: Vec<(u64, Subprogram)>,
    elsewhere: bool,
}

fn part(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>) -> Part {
    let mut part = Part {
        elsewhere: unit.dwo_name().is_ok_and(|name| name.is_some()),
        ..Part::default()
    };
    let _ = lines(dwarf, unit, &mut part);
    let _ = functions(dwarf, unit, &mut part);
    part
}

fn lines(dwarf: &Dwarf<Slice<'_>>, unit: &Unit<Slice<'_>>, part: &mut Part) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else {
        return Ok(());
    };
    let mut numbers: FxHashMap<u64, u32> = FxHashMap::default();
    let mut rows = program.rows();
    let mut start = part.rows.len();
    while let Some((header, row)) = rows.next_row()? {
        let address = row.address();
        if row.end_sequence() {
            // Code that the linker threw away is at address 0.
            if part.rows.get(start).is_some_and(|r| r.address == 0) {
                part.rows.truncate(start);
            } else {
                part.rows.push(Row {
                    address,
                    file: u32::MAX,
                    line: 0,
                });
            }
            start = part.rows.len();
            continue;
        }
        let index = row.file_index();
        let file = match numbers.get(&index) {
            Some(known) => *known,
            None => {
                let name = file_name(dwarf, unit, header, index).unwrap_or_default();
                part.files.push(name);
                let new = part.files.len() as u32 - 1;
                numbers.insert(index, new);
                new
            }
        };
        let line = row
            .line()
            .map_or(0, |l| u32::try_from(l.get()).unwrap_or(0));
        part.rows.push(Row {
            address,
            file,
            line,
        });
    }
    Ok(())
}

fn file_name(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    header: &gimli::LineProgramHeader<Slice<'_>>,
    index: u64,
) -> Option<String> {
    let file = header.file(index)?;
    let text = |value| {
        dwarf
            .attr_string(unit, value)
            .ok()
            .map(|s| s.to_string_lossy().into_owned())
    };
    let name = text(file.path_name())?;
    let directory = file.directory(header).and_then(text).unwrap_or_default();
    let base = unit
        .comp_dir
        .map(|d| d.to_string_lossy().into_owned())
        .unwrap_or_default();
    let join = |a: String, b: &str| {
        if b.starts_with('/') || a.is_empty() {
            b.to_string()
        } else {
            format!("{}/{b}", a.trim_end_matches('/'))
        }
    };
    Some(join(join(base, &directory), &name))
}

fn functions(
    dwarf: &Dwarf<Slice<'_>>,
    unit: &Unit<Slice<'_>>,
    part: &mut Part,
) -> gimli::Result<()> {
    let mut entries = unit.entries();
    // For each level of the tree: indices of the function and of the inlined function that it is in.
    let mut levels: Vec<(isize, Option<usize>, Option<usize>)> = Vec::new();
    while let Some(entry) = entries.next_dfs()? {
        let depth = entry.depth();
        while levels.last().is_some_and(|l| l.0 >= depth) {
            levels.pop();
        }
        let (_, inside, outer) = levels.last().copied().unwrap_or((0, None, None));
        match entry.tag() {
            gimli::DW_TAG_subprogram => {
                let ranges = ranges(dwarf, unit, entry);
                let function = ranges.first().map(|first| {
                    let line = number(unit, dwarf, entry, gimli::DW_AT_decl_line, 4);
                    part.functions.push((
                        first.0,
                        Subprogram {
                            line,
                            inlines: Vec::new(),
                        },
                    ));
                    part.functions.len() - 1
                });
                levels.push((depth, function, None));
            }
            gimli::DW_TAG_inlined_subroutine => {
                let ranges = ranges(dwarf, unit, entry);
                let mut this = outer;
                if let Some((_, function)) = inside
                    .and_then(|i| part.functions.get_mut(i))
                    .filter(|_| !ranges.is_empty())
                {
                    let name =
                        name(dwarf, unit, entry, 6).unwrap_or_else(|| "inlined function".into());
                    function.inlines.push(Inline {
                        ranges,
                        outer,
                        name,
                    });
                    this = Some(function.inlines.len() - 1);
                }
                levels.push((depth, inside, this));
            }
            _ => {}
        }
    }
    Ok(())
}

fn ranges<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
) -> Vec<(u64, u64)> {
    let mut out = Vec::new();
    if let Ok(mut ranges) = dwarf.die_ranges(unit, entry) {
        while let Ok(Some(r)) = ranges.next() {
            if r.begin != 0 && r.end > r.begin {
                out.push((r.begin, r.end));
            }
        }
    }
    out
}

/// The entry that an entry refers to for what it does not say itself.
fn origin<'a>(
    unit: &Unit<Slice<'a>>,
    dwarf: &Dwarf<Slice<'a>>,
    value: AttributeValue<Slice<'a>>,
) -> Option<(Option<Unit<Slice<'a>>>, UnitOffset)> {
    match value {
        AttributeValue::UnitRef(offset) => Some((None, offset)),
        AttributeValue::DebugInfoRef(offset) => {
            if let Some(local) = offset.to_unit_offset(&unit.header) {
                return Some((None, local));
            }
            let header = containing(dwarf, offset)?;
            let local = offset.to_unit_offset(&header)?;
            dwarf.unit(header).ok().map(|u| (Some(u), local))
        }
        _ => None,
    }
}

fn containing<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    offset: gimli::DebugInfoOffset,
) -> Option<gimli::UnitHeader<Slice<'a>>> {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        if offset.to_unit_offset(&header).is_some() {
            return Some(header);
        }
    }
    None
}

fn name<'a>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    hops: u32,
) -> Option<String> {
    if let Some(value) = entry.attr_value(gimli::DW_AT_name) {
        return dwarf
            .attr_string(unit, value)
            .ok()
            .map(|s| s.to_string_lossy().into_owned());
    }
    follow(dwarf, unit, entry, hops, name)
}

fn number<'a>(
    unit: &Unit<Slice<'a>>,
    dwarf: &Dwarf<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    what: gimli::DwAt,
    hops: u32,
) -> u32 {
    if let Some(value) = entry.attr_value(what).and_then(|v| v.udata_value()) {
        return u32::try_from(value).unwrap_or(0);
    }
    follow(dwarf, unit, entry, hops, |d, u, e, h| {
        Some(number(u, d, e, what, h))
    })
    .unwrap_or(0)
}

fn follow<'a, T>(
    dwarf: &Dwarf<Slice<'a>>,
    unit: &Unit<Slice<'a>>,
    entry: &DebuggingInformationEntry<Slice<'a>>,
    hops: u32,
    ask: impl Fn(
        &Dwarf<Slice<'a>>,
        &Unit<Slice<'a>>,
        &DebuggingInformationEntry<Slice<'a>>,
        u32,
    ) -> Option<T>,
) -> Option<T> {
    let hops = hops.checked_sub(1)?;
    let to = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];
    let value = to.into_iter().find_map(|a| entry.attr_value(a))?;
    if let AttributeValue::DebugInfoRefSup(offset) = value {
        let sup = dwarf.sup()?;
        let header = containing(sup, offset)?;
        let there = sup.unit(header).ok()?;
        let local = offset.to_unit_offset(&there.header)?;
        return ask(sup, &there, &there.entry(local).ok()?, hops);
    }
    let (other, offset) = origin(unit, dwarf, value)?;
    let there = other.as_ref().unwrap_or(unit);
    ask(dwarf, there, &there.entry(offset).ok()?, hops)
}
