//! Matches names with patterns: `MPI_*`, `mpi_?send`, `[ab]*`.

/// Whether `text` matches the pattern: `*` matches anything, `?` one character, `[ab-d]` one of these, and `[!ab]` any
/// other. Upper and lower case differ. A bracket that is not closed matches itself.
pub fn glob(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    // Where to continue if the text after the last star does not match: one character further.
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        let step = match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => match class(&pattern[p..], text[t]) {
                Some((true, width)) => Some(width),
                Some((false, _)) => None,
                None => (text[t] == '[').then_some(1),
            },
            Some(c) => (*c == text[t]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(width), _) => (p, t) = (p + width, t + 1),
            (None, Some((after, at))) => {
                (p, t) = (after, at + 1);
                star = Some((after, at + 1));
            }
            (None, None) => return false,
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

/// Whether `c` is in the class at the start of `pattern`, and how long the class is.
fn class(pattern: &[char], c: char) -> Option<(bool, usize)> {
    let not = pattern.get(1) == Some(&'!');
    let begin = if not { 2 } else { 1 };
    let end = (begin + 1..pattern.len()).find(|i| pattern[*i] == ']')?;
    let inside = &pattern[begin..end];
    let mut matched = false;
    let mut i = 0;
    while i < inside.len() {
        if i + 2 < inside.len() && inside[i + 1] == '-' {
            matched |= (inside[i]..=inside[i + 2]).contains(&c);
            i += 3;
        } else {
            matched |= inside[i] == c;
            i += 1;
        }
    }
    Some((matched != not, end + 1))
}

#[cfg(test)]
mod tests {
    use super::glob;

    #[test]
    fn patterns_are_those_of_the_shell() {
        for (pattern, text, fits) in [
            ("MPI_*", "MPI_Send", true),
            ("MPI_*", "PMPI_Send", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("*send", "mpi_isend", true),
            ("*s*d", "mpi_isends", false),
            ("MPI_?send", "MPI_Isend", true),
            ("[ab]x", "bx", true),
            ("[!ab]x", "bx", false),
            ("[a-c]*", "cd", true),
            ("istream::read*", "istream::read(char*)", true),
            ("a[", "a[", true),
            ("*a*b*c*", "xxaxxbxxcxx", true),
        ] {
            assert_eq!(glob(pattern, text), fits, "{pattern} {text}");
        }
    }
}
