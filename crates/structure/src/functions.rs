//! Where a module's functions lie: symbols and unwind tables put together.

use crate::elf::{Image, Symbol};
use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};

/// Functions from symbols and unwind tables, sorted, without overlap.
pub fn functions(image: &Image<'_>) -> Vec<Symbol> {
    let mut all = image.symbols();
    all.extend(unwind_functions(image));
    // Of names for one address, the one that a linker would show: with a size, then the shortest.
    all.sort_by(|a, b| {
        let key = |s: &Symbol| {
            (
                s.address,
                s.name.is_none(),
                s.size == 0,
                s.name.as_ref().map_or(0, String::len),
            )
        };
        key(a).cmp(&key(b)).then(a.name.cmp(&b.name))
    });
    all.dedup_by(|next, kept| {
        let same = next.address == kept.address;
        if same {
            kept.size = kept.size.max(next.size);
        }
        same
    });
    let skipped = |name: &str| matches!(name, ".plt" | ".plt.got" | ".plt.sec" | ".init" | ".fini");
    let section_of = |a: u64| {
        let after = image.sections.partition_point(|s| s.address <= a);
        after
            .checked_sub(1)
            .map(|i| &image.sections[i])
            .filter(|s| s.code && a < s.address + s.data.len() as u64 && !skipped(&s.name))
    };
    all.retain(|f| section_of(f.address).is_some());
    for i in 0..all.len() {
        let section_end = section_of(all[i].address).map_or(0, |s| s.address + s.data.len() as u64);
        let next = all
            .get(i + 1)
            .map_or(u64::MAX, |f| f.address)
            .min(section_end);
        let room = next.saturating_sub(all[i].address);
        all[i].size = if all[i].size == 0 {
            room
        } else {
            all[i].size.min(room)
        };
    }
    all.retain(|f| f.size > 0);
    all
}

fn unwind_functions(image: &Image<'_>) -> Vec<Symbol> {
    let Some(section) = image.sections.iter().find(|s| s.name == ".eh_frame") else {
        return Vec::new();
    };
    let frames = EhFrame::new(&section.data, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address);
    let mut entries = frames.entries(&bases);
    let mut out = Vec::new();
    while let Ok(Some(entry)) = entries.next() {
        let CieOrFde::Fde(partial) = entry else {
            continue;
        };
        let Ok(fde) = partial.parse(|f, b, o| f.cie_from_offset(b, o)) else {
            continue;
        };
        out.push(Symbol {
            address: fde.initial_address(),
            size: fde.len(),
            name: None,
        });
    }
    out
}
