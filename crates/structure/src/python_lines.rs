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

/// Strings and expressions in each other (`f"{f'{x}'}"`) are followed no deeper than this.
const DEEPEST: usize = 64;

/// What is open at a place, besides brackets.
enum Open {
    /// The text of a string.
    Text {
        quote: char,
        is_triple: bool,
        is_raw: bool,
        is_format: bool,
    },
    /// An expression in a string, with the brackets that were open when it began.
    Expression(usize),
    /// How the value of an expression is written (`:>10`). It is text, in which further expressions may be.
    Format,
}

/// Where a reader is in the text.
#[derive(Default)]
struct Place {
    open: Vec<Open>,
    brackets: usize,
    /// Whether the line ends with a backslash.
    goes_on: bool,
}

/// Lines as Python counts them.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    let lines = text.split('\n');
    lines.flat_map(|line| line.strip_suffix('\r').unwrap_or(line).split('\r'))
}

/// The statements of a text, in their order.
///
/// # Errors
/// A string or a bracket that does not end.
pub fn statements(text: &str) -> Result<Vec<Statement>, String> {
    let mut out: Vec<Statement> = Vec::new();
    let mut place = Place::default();
    // What is not blank and not in strings or comments comes last.
    let mut last = ' ';
    for (number, line) in (1u32..).zip(lines(text)) {
        let new = place.open.is_empty() && place.brackets == 0 && !place.goes_on;
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
            last = ' ';
        }
        let code = place.read(line)?;
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
    match place.open.is_empty() && place.brackets == 0 {
        true => Ok(out),
        false => Err("a string or a bracket does not end".to_string()),
    }
}

/// What is behind the first characters of a text.
fn behind(text: &str, bytes: usize) -> &str {
    text.get(bytes..).unwrap_or("")
}

impl Place {
    /// Reads a line, and returns what of it is not in strings. Of a string, its first quote is in it.
    fn read(&mut self, line: &str) -> Result<String, String> {
        let mut code = String::new();
        let mut rest = line;
        // Letters just before a quote.
        let mut prefix = String::new();
        self.goes_on = false;
        while let Some(c) = rest.chars().next() {
            let after = behind(rest, c.len_utf8());
            if matches!(self.open.last(), Some(Open::Text { .. } | Open::Format)) {
                rest = self.read_text(c, after)?;
                continue;
            }
            rest = after;
            match c {
                '#' => break,
                '\\' if after.is_empty() => self.goes_on = true,
                '\'' | '"' => {
                    code.push(if self.open.is_empty() { c } else { ' ' });
                    rest = self.begin(c, after, &prefix)?;
                    prefix.clear();
                    continue;
                }
                '(' | '[' | '{' => self.brackets += 1,
                ')' | ']' | '}' => self.end_bracket(c)?,
                ':' if self.is_in_expression() => {
                    self.open.pop();
                    self.open.push(Open::Format);
                }
                _ => {}
            }
            if self.open.is_empty() && c != '\\' {
                code.push(c);
            }
            match c.is_alphabetic() {
                true => prefix.push(c),
                false => prefix.clear(),
            }
        }
        self.end_line();
        Ok(code)
    }

    fn push(&mut self, open: Open) -> Result<(), String> {
        if self.open.len() >= DEEPEST {
            return Err("strings are nested too deep".to_string());
        }
        self.open.push(open);
        Ok(())
    }

    /// A string begins with a quote behind these letters. Returns what follows.
    fn begin<'l>(&mut self, quote: char, after: &'l str, letters: &str) -> Result<&'l str, String> {
        let letters = letters.to_ascii_lowercase();
        let known = letters.len() <= 2 && letters.chars().all(|l| "rbuft".contains(l));
        let letters = if known { letters.as_str() } else { "" };
        let is_triple = after.starts_with(quote) && behind(after, 1).starts_with(quote);
        self.push(Open::Text {
            quote,
            is_triple,
            is_raw: letters.contains('r'),
            is_format: letters.contains(['f', 't']),
        })?;
        Ok(behind(after, if is_triple { 2 } else { 0 }))
    }

    /// Reads a character of text. Returns what follows.
    fn read_text<'l>(&mut self, c: char, after: &'l str) -> Result<&'l str, String> {
        if let Some(Open::Format) = self.open.last() {
            match c {
                '{' => self.push(Open::Expression(self.brackets))?,
                '}' => drop(self.open.pop()),
                _ => {}
            }
            return Ok(after);
        }
        let Some(Open::Text {
            quote,
            is_triple,
            is_raw,
            is_format,
        }) = self.open.last()
        else {
            return Ok(after);
        };
        match c {
            '\\' if after.is_empty() => self.goes_on = true,
            // A name in braces is no expression.
            '\\' if *is_format && !is_raw && after.starts_with("N{") => {
                let end = after.find('}').map_or(after.len(), |at| at + 1);
                return Ok(behind(after, end));
            }
            '\\' if *is_format && after.starts_with('{') => {}
            '\\' => {
                return Ok(behind(
                    after,
                    after.chars().next().map_or(0, char::len_utf8),
                ));
            }
            '{' if *is_format && after.starts_with('{') => return Ok(behind(after, 1)),
            '{' if *is_format => self.push(Open::Expression(self.brackets))?,
            _ if c == *quote && !is_triple => drop(self.open.pop()),
            _ if c == *quote && after.starts_with(c) && behind(after, 1).starts_with(c) => {
                self.open.pop();
                return Ok(behind(after, 2));
            }
            _ => {}
        }
        Ok(after)
    }

    /// Whether this is an expression in a string, in no bracket of it.
    fn is_in_expression(&self) -> bool {
        matches!(self.open.last(), Some(Open::Expression(around)) if *around == self.brackets)
    }

    fn end_bracket(&mut self, c: char) -> Result<(), String> {
        if self.is_in_expression() {
            self.open.pop();
            return match c {
                '}' => Ok(()),
                _ => Err("a bracket ends that did not begin".to_string()),
            };
        }
        self.brackets =
            (self.brackets.checked_sub(1)).ok_or("a bracket ends that did not begin")?;
        Ok(())
    }

    /// A string of one line ends with it, whatever is wrong with it. An expression in it may go on.
    fn end_line(&mut self) {
        let is_text = |open: &Open| matches!(open, Open::Text { .. });
        let inner = self.open.iter().rposition(is_text);
        let is_code = matches!(self.open.last(), None | Some(Open::Expression(_)));
        if let Some(at) = inner.filter(|_| !is_code && !self.goes_on)
            && let Some(Open::Text {
                is_triple: false, ..
            }) = self.open.get(at)
        {
            self.open.truncate(at);
        }
    }
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
    fn strings_of_all_kinds_end_where_they_do() {
        // Each is one line, behind which a loop is read.
        for line in [
            r"x = re.sub(r'\\', '/', y)",
            r#"print(f"{x:#x} {y!r:'>10}")"#,
            r#"print(f"{x["k"]:{w}.{p}f}")"#,
            r#"print(f'{a + (b if c else {1: 2}[d])}', ")")"#,
            r#"print(rf"\{x}", f"\N{LEFT PARENTHESIS}", f"{{ ( {x}")"#,
            r#"x = b'\'', R"(", u'"', Rb'['"#,
            r#"y = f"{f'{f"{1 + (2)}"}'}""#,
            r##"z = {'a': "#"}  # it's"##,
            "w = 'not closed",
            r#"v = '''a''' "b" """c"""  "#,
        ] {
            let text = format!("{line}\nfor i in x:\n    pass\n");
            let all = statements(&text).unwrap_or_else(|e| panic!("{line}: {e}"));
            let firsts: Vec<(u32, bool)> =
                all.iter().map(|s| (s.first_line, s.opens_block)).collect();
            assert_eq!(firsts, [(1, false), (2, true), (3, false)], "{line}");
        }
    }

    #[test]
    fn lines_end_as_python_says() {
        let text = "\u{feff}def f():\r    for x in y:\r\n        g(x)\n\x0cz = 1 + \\\r\n  2\n";
        let lines: Vec<(usize, u32, u32)> = of(text).iter().map(|s| (s.0, s.1, s.2)).collect();
        assert_eq!(lines, [(0, 1, 1), (4, 2, 2), (8, 3, 3), (0, 4, 5)]);
        assert_eq!(of(text)[0].3, "def f():");
        // An expression in a string may have several lines.
        let text = "s = f\"{\n  x: >{\n w\n}}\"\ny = 1\n";
        let lines: Vec<(u32, u32)> = of(text).iter().map(|s| (s.1, s.2)).collect();
        assert_eq!(lines, [(1, 4), (5, 5)]);
    }

    #[test]
    fn what_does_not_end_is_an_error() {
        assert!(statements("x = (1,\n").is_err());
        assert!(statements("x = '''a\n").is_err());
        assert!(statements("x = 1)\n").is_err());
        assert!(statements("x = f'{1)}'\n").is_err());
        assert!(statements(&"f'{".repeat(DEEPEST)).is_err());
        assert!(statements("").is_ok_and(|s| s.is_empty()));
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_statements_or_an_error(text in "[ \t\na-c:#'\"\\\\(){}\\[\\]fr→]{0,60}") {
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
