//! The elementary values and records of an OTF2 file, as `headwater-import` reads them (`otf2/bytes.rs`).

/// Appends an integer without its leading zeros.
pub fn number(out: &mut Vec<u8>, n: u64) {
    if n == u64::MAX {
        return out.push(u8::MAX);
    }
    let bytes = (u64::BITS - n.leading_zeros()).div_ceil(8) as usize;
    out.push(bytes as u8);
    out.extend_from_slice(&n.to_le_bytes()[..bytes]);
}

/// Appends an integer of four bytes; the largest one is undefined.
pub fn number32(out: &mut Vec<u8>, n: u32) {
    match n {
        u32::MAX => out.push(u8::MAX),
        n => number(out, u64::from(n)),
    }
}

/// Appends text.
pub fn text(out: &mut Vec<u8>, text: &str) {
    out.extend(text.bytes().filter(|b| *b != 0));
    out.push(0);
}

/// Appends a record: its number, its length, its data.
pub fn record(out: &mut Vec<u8>, kind: u8, data: &[u8]) {
    out.push(kind);
    match u8::try_from(data.len()).ok().filter(|n| *n < u8::MAX) {
        Some(short) => out.push(short),
        None => {
            out.push(u8::MAX);
            out.extend_from_slice(&(data.len() as u64).to_le_bytes());
        }
    }
    out.extend_from_slice(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_leading_zeros() {
        let mut out = Vec::new();
        for n in [0, 1, 0x1234, u64::MAX, u64::MAX - 1] {
            number(&mut out, n);
        }
        number32(&mut out, u32::MAX);
        let largest = [8, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(out[..6], [0, 1, 1, 2, 0x34, 0x12]);
        assert_eq!(out[6..], [&[0xff][..], &largest, &[0xff]].concat());
    }

    #[test]
    fn long_records_have_a_long_length() {
        let mut out = Vec::new();
        record(&mut out, 10, &[7; 255]);
        assert_eq!(out[..10], [10, 0xff, 255, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(out.len(), 265);
    }
}
