//! Python's strings, as UTF-8.

use crate::layout::Layout;
use crate::memory::Memory;

/// Offsets in a string: of its length and of its state.
const LENGTH: u64 = 16;
const STATE: u64 = 32;

/// Characters that are read at once.
const PIECE: usize = 64;

/// What a string's state says: bytes of a character, and whether there is ASCII alone; `None` if its characters are not
/// behind its head. Up to 3.13, two bits come before these, then sixteen.
fn kind_of(state: u32) -> Option<(u64, bool)> {
    [2, 16].into_iter().find_map(|shift| {
        let state = state >> shift;
        let is_compact = state >> 3 & 1 == 1;
        let is_ascii = state >> 4 & 1 == 1;
        let bytes = u64::from(state & 7);
        let known = matches!(bytes, 1 | 2 | 4) && is_compact && !(is_ascii && bytes > 1);
        known.then_some((bytes, is_ascii))
    })
}

/// Writes the string at `address` to `out`, as far as whole characters fit with a NUL behind them. Returns its bytes.
pub fn read(memory: &impl Memory, layout: &Layout, address: u64, out: &mut [u8]) -> Option<usize> {
    let length = memory.word(address.checked_add(LENGTH)?)?;
    let state = memory.word(address.checked_add(STATE)?)? as u32;
    let (bytes, is_ascii) = kind_of(state)?;
    let begin = match is_ascii {
        true => layout.ascii,
        false => layout.other_text,
    };
    let begin = address.checked_add(begin)?;
    let (mut at, mut len) = (0, 0);
    while at < length {
        let mut piece = [0u8; 4 * PIECE];
        let characters = (length - at).min(PIECE as u64);
        let piece = piece.get_mut(..(characters * bytes) as usize)?;
        if !memory.read(begin.checked_add(at.checked_mul(bytes)?)?, piece) {
            return None;
        }
        for character in piece.chunks_exact(bytes as usize) {
            let number = character
                .iter()
                .rev()
                .fold(0u32, |n, b| n << 8 | u32::from(*b));
            let character = char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER);
            let room = out.get_mut(len..out.len().saturating_sub(1))?;
            if room.len() < character.len_utf8() {
                return end(out, len);
            }
            len += character.encode_utf8(room).len();
        }
        at += characters;
    }
    end(out, len)
}

fn end(out: &mut [u8], len: usize) -> Option<usize> {
    out.get_mut(len..)?.fill(0);
    Some(len)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::layout::DEBUG_WORDS;
    use crate::memory::image::Image;

    /// Puts a string of ASCII as 3.11 has it.
    pub(crate) fn put(image: &mut Image, address: u64, text: &str) {
        image.word_at(address + LENGTH, text.len() as u64);
        image.word_at(address + STATE, 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7);
        image.put(address + 48, text.as_bytes());
    }

    fn layout() -> Layout {
        Layout::of((3, 11), &[0; DEBUG_WORDS]).expect("a known version")
    }

    fn text(image: &Image, room: usize) -> Option<String> {
        let mut out = vec![1; room];
        let len = read(image, &layout(), 64, &mut out)?;
        assert!(out[len..].iter().all(|b| *b == 0));
        Some(String::from_utf8(out[..len].to_vec()).expect("UTF-8"))
    }

    #[test]
    fn strings_are_read_as_far_as_they_fit() {
        let mut image = Image::default();
        let long = "abc".repeat(50);
        put(&mut image, 64, &long);
        assert_eq!(text(&image, 200), Some(long.clone()));
        assert_eq!(text(&image, 6), Some("abcab".into()));
        assert_eq!(text(&image, 0), Some(String::new()));
    }

    #[test]
    fn wide_characters_become_utf8() {
        for (bytes, character) in [(1u64, 'ö'), (2, '→'), (4, '😀')] {
            for shift in [2, 16] {
                let mut image = Image::default();
                image.word_at(64 + LENGTH, 2);
                image.word_at(64 + STATE, (bytes | 1 << 3) << shift | 1);
                for i in 0..2 {
                    let number = u32::from(character).to_le_bytes();
                    image.put(64 + 72 + i * bytes, &number[..bytes as usize]);
                }
                let both: String = [character; 2].into_iter().collect();
                assert_eq!(text(&image, 20), Some(both));
                // No half of a character.
                let most = character.len_utf8() * 2;
                assert_eq!(text(&image, most), Some(character.to_string()));
            }
        }
    }

    #[test]
    fn what_is_no_string_is_not_read() {
        let mut image = Image::default();
        put(&mut image, 64, "abc");
        image.word_at(64 + STATE, 0);
        assert_eq!(text(&image, 20), None);
        put(&mut image, 64, "abc");
        image.word_at(64 + LENGTH, u64::MAX);
        assert_eq!(text(&image, 20), None);
        assert_eq!(text(&Image::default(), 20), None);
    }
}
