//! Statements of Python's source: its logical lines, with strings and comments skipped.

/// A statement, or several on one line.
#[derive(Debug, PartialEq)]
pub struct Statement {
    /// Columns before it.
    pub indent: usize,
    /// Its first line.
    pub first_line: u32,
    /// Its last line.
    pub last_line: u32,
    /// Its text on the first line, without comments.
    pub text: String,
    /// Whether a block follows it.
    pub opens_block: bool,
}

/// A tab goes to the next multiple of this, columns.
const TAB: usize = 8;

/// Strings in strings (`f"{f'…'}"`) are followed no deeper than this.
const DEEPEST: usize = 16;

/// A string that has begun.
struct Open {
    quote: char,
    is_triple: bool,
    is_raw: bool,
    is_format: bool,
    /// Brackets that were open when the expression in it began; `None` outside of one.
    expression: Option<usize>,
}

/// The statements of a text, in their order.
///
/// # Errors
/// A string or a bracket that does not end.
pub fn statements(text: &str) -> Result<Vec<Statement>, String> {
    let mut out: Vec<Statement> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut brackets = 0usize;
    let mut goes_on = false;
    // What is not blank and not in strings or comments comes last.
    let mut last = ' ';
    for (number, line) in (1u32..).zip(text.lines()) {
        let new = open.is_empty() && brackets == 0 && !goes_on;
        if new {
            let blank = |c: char| c == ' ' || c == '\t' || c == '\x0c';
            let begin = line.find(|c| !blank(c)).unwrap_or(line.len());
            let (before, rest) = line.split_at(begin);
            if rest.is_empty() || rest.starts_with('#') {
                continue;
            }
            let indent = before.chars().fold(0, |n, c| match c {
                '\t' => n / TAB * TAB + TAB,
                ' ' => n + 1,
                _ => 0,
            });
            out.push(Statement {
                indent,
                first_line: number,
                last_line: number,
                text: String::new(),
                opens_block: false,
            });
        }
        goes_on = false;
        let mut code = String::new();
        scan(line, &mut open, &mut brackets, &mut code, &mut goes_on)?;
        // A string of one line ends with it, whatever is wrong with it.
        open.retain(|s| s.is_triple || goes_on);
        if let Some(c) = code.trim_end().chars().next_back() {
            last = c;
        }
        if let Some(statement) = out.last_mut() {
            statement.last_line = number;
            if new {
                statement.text = code.trim().to_string();
            }
            statement.opens_block = last == ':';
        }
    }
    match open.is_empty() && brackets == 0 {
        true => Ok(out),
        false => Err("a string or a bracket does not end".to_string()),
    }
}

/// Reads a line, and adds what is not in strings to `code`.
fn scan(
    line: &str,
    open: &mut Vec<Open>,
    brackets: &mut usize,
    code: &mut String,
    goes_on: &mut bool,
) -> Result<(), String> {
    let mut rest = line;
    // Letters just before a quote.
    let mut prefix = String::new();
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or("");
        let is_last = after.is_empty();
        let in_text = open.last().is_some_and(|s| s.expression.is_none());
        if in_text && let Some(string) = open.last_mut() {
            let triple = String::from(string.quote).repeat(3);
            rest = after;
            if c == '\\' && is_last {
                *goes_on = true;
            } else if c == '\\' && (!string.is_raw || after.starts_with(string.quote)) {
                let next = after.chars().next().map_or(0, char::len_utf8);
                rest = after.get(next..).unwrap_or("");
            } else if string.is_format && c == '{' {
                if let Some(escaped) = after.strip_prefix('{') {
                    rest = escaped;
                } else {
                    string.expression = Some(*brackets);
                }
            } else if c == string.quote {
                let ends = !string.is_triple || after.starts_with(triple.get(1..).unwrap_or(""));
                if string.is_triple && ends {
                    rest = after.get(2 * c.len_utf8()..).unwrap_or("");
                }
                if ends {
                    open.pop();
                }
            }
            continue;
        }
        rest = after;
        match c {
            '#' => break,
            '\\' if is_last => *goes_on = true,
            '\'' | '"' => {
                // In an older f-string, the same quote ends it.
                let outer = open.last().is_some_and(|s| s.quote == c && !s.is_triple);
                if outer && closes_here(after) {
                    open.pop();
                    continue;
                }
                if open.len() >= DEEPEST {
                    return Err("strings are nested too deep".to_string());
                }
                let letters = prefix.to_ascii_lowercase();
                let known = letters.len() <= 2 && letters.chars().all(|l| "rbuft".contains(l));
                let letters = if known { letters.as_str() } else { "" };
                let two: String = [c, c].into_iter().collect();
                let is_triple = after.starts_with(&two);
                if is_triple {
                    rest = after.get(2..).unwrap_or("");
                }
                open.push(Open {
                    quote: c,
                    is_triple,
                    is_raw: letters.contains('r'),
                    is_format: letters.contains(['f', 't']),
                    expression: None,
                });
                code.push(c);
            }
            '(' | '[' | '{' => *brackets += 1,
            '}' if open.last().is_some_and(|s| s.expression == Some(*brackets)) => {
                if let Some(string) = open.last_mut() {
                    string.expression = None;
                }
            }
            ')' | ']' | '}' => {
                *brackets = (brackets.checked_sub(1)).ok_or("a bracket ends that did not begin")?;
            }
            ':' if open.last().is_some_and(|s| s.expression == Some(*brackets)) => {
                // The format of a value is text in which further values may be.
            }
            _ => {}
        }
        if open.is_empty() && c != '\\' {
            code.push(c);
        }
        if c.is_alphabetic() {
            prefix.push(c);
        } else {
            prefix.clear();
        }
    }
    Ok(())
}

/// Whether a quote in the expression of a string ends the string: no other quote follows on the line.
fn closes_here(after: &str) -> bool {
    !after.contains(['\'', '"'])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Indentation, first and last line, text, and whether a block follows.
    fn of(text: &str) -> Vec<(usize, u32, u32, String, bool)> {
        let all = statements(text).expect("statements");
        let all = all.into_iter();
        all.map(|s| (s.indent, s.first_line, s.last_line, s.text, s.opens_block))
            .collect()
    }

    #[test]
    fn strings_brackets_and_comments_hide_what_is_in_them() {
        let text = "\
x = '''if a:
  b''' # c:
if (y or
    z):  # why:
\tw = {1: 2}
s = \"it's: \\\" #\"; t = 'a' \\
  + b
f'{x:>{w}} {{ {d[\"k\"]}': pass
";
        let firsts: Vec<(usize, u32, u32, bool)> =
            of(text).into_iter().map(|s| (s.0, s.1, s.2, s.4)).collect();
        assert_eq!(
            firsts,
            [
                (0, 1, 2, false),
                (0, 3, 4, true),
                (8, 5, 5, false),
                (0, 6, 7, false),
                (0, 8, 8, false),
            ]
        );
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        assert!(statements("x = (1,\n").is_err());
        assert!(statements("x = '''a\n").is_err());
        assert!(statements("x = 1)\n").is_err());
        assert!(statements("").is_ok_and(|s| s.is_empty()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_statements_or_an_error(text in "[ \t\na-c:#'\"\\\\(){}\\[\\]f→]{0,60}") {
            if let Ok(all) = statements(&text) {
                let lines = text.lines().count() as u32;
                for pair in all.windows(2) {
                    assert!(pair[0].last_line < pair[1].first_line);
                }
                assert!(all.iter().all(|s| s.first_line <= s.last_line && s.last_line <= lines));
            }
        }
    }
}
