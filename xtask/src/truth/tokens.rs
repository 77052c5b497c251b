//! Statements of C and C++ sources at which something can be planted, found with a small tokenizer.
//!
//! Comments, literals and directives are blanked, so that positions stay those of the source. A statement is taken
//! only where it starts a line, follows `;`, `{` or `}`, and ends a line. What the tokenizer cannot judge (macros
//! that open blocks, for instance) the compiler and a run judge later: a patch that fails there is drawn again.

use std::ops::Range;

/// Kind of statement.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A `for` or `do` loop.
    Loop,
    /// A call.
    Call,
    /// Another one.
    Other,
}

/// A statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    /// Its kind.
    pub kind: Kind,
    /// First line, from 1.
    pub first: u32,
    /// Last line.
    pub last: u32,
    /// Whether repeating it looks harmless: it adds to nothing, allocates, returns and sends nothing.
    pub repeatable: bool,
    /// Whether a loop has no loop within it.
    pub innermost: bool,
    /// Loops around it in the same function.
    pub depth: u32,
    /// Whether the line before it is a directive that belongs to it.
    pub directed: bool,
    /// For a loop whose iterations threads share: the first line of its body.
    pub parallel_body: Option<u32>,
}

/// The source with comments, literals and directives turned to spaces.
pub fn blank(source: &str) -> Vec<u8> {
    let bytes = source.as_bytes();
    let mut out = bytes.to_vec();
    let mut wipe = |range: Range<usize>| {
        for b in out.get_mut(range).into_iter().flatten() {
            if *b != b'\n' {
                *b = b' ';
            }
        }
    };
    let (mut at, mut line_is_empty) = (0, true);
    while let Some(&b) = bytes.get(at) {
        let rest = &bytes[at..];
        let length = if rest.starts_with(b"//") {
            logical_line(rest)
        } else if rest.starts_with(b"/*") {
            find(&rest[2..], b"*/").map_or(rest.len(), |n| n + 4)
        } else if b == b'#' && line_is_empty {
            logical_line(rest)
        } else if b == b'"' || (b == b'\'' && !is_digit_mark(bytes, at)) {
            literal(rest, b)
        } else {
            0
        };
        if length > 0 {
            wipe(at..at + length);
            at += length;
        } else {
            line_is_empty = b == b'\n' || (line_is_empty && b.is_ascii_whitespace());
            at += 1;
        }
    }
    out
}

/// Whether a quote is between digits, as in `1'000`.
fn is_digit_mark(bytes: &[u8], at: usize) -> bool {
    let digit = |i: Option<usize>| i.and_then(|i| bytes.get(i)).is_some_and(u8::is_ascii_digit);
    digit(at.checked_sub(1)) && digit(Some(at + 1))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|w| w == what)
}

/// Length of a line with those that continue it, without the last line's end.
fn logical_line(rest: &[u8]) -> usize {
    let mut before = 0;
    for (i, &b) in rest.iter().enumerate() {
        if b == b'\n' && before != b'\\' {
            return i;
        }
        if b != b'\r' {
            before = b;
        }
    }
    rest.len()
}

fn literal(rest: &[u8], quote: u8) -> usize {
    let mut escaped = false;
    for (i, &b) in rest.iter().enumerate().skip(1) {
        if b == b'\n' && !escaped {
            return i;
        }
        if b == quote && !escaped {
            return i + 1;
        }
        escaped = b == b'\\' && !escaped;
    }
    rest.len()
}

/// A word or a single sign, with its place.
#[derive(Clone, Debug)]
struct Token<'a> {
    text: &'a str,
    line: u32,
    starts_line: bool,
    ends_line: bool,
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut out: Vec<Token<'_>> = Vec::new();
    for (number, line) in (1u32..).zip(text.split('\n')) {
        let from = out.len();
        let mut rest = line.trim_start();
        while let Some(first) = rest.chars().next() {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let length = if word(first) {
                rest.find(|c| !word(c)).unwrap_or(rest.len())
            } else {
                let double = [
                    "++", "--", "+=", "-=", "*=", "/=", "==", "<=", ">=", "!=", "->", "::",
                ];
                let both = double.iter().any(|d| rest.starts_with(d));
                if both { 2 } else { first.len_utf8() }
            };
            let (text, after) = rest.split_at(length);
            out.push(Token {
                text,
                line: number,
                starts_line: out.len() == from,
                ends_line: after.trim().is_empty(),
            });
            rest = after.trim_start();
        }
    }
    out
}

/// Position after the bracket that closes the one at `at`.
fn closed(tokens: &[Token<'_>], at: usize) -> Option<usize> {
    let mut open = 0usize;
    for (i, t) in tokens.iter().enumerate().skip(at) {
        match t.text {
            "(" | "{" | "[" => open += 1,
            ")" | "}" | "]" => {
                open = open.checked_sub(1)?;
                if open == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Position after the statement at `at`.
fn statement_end(tokens: &[Token<'_>], at: usize, deep: u32) -> Option<usize> {
    if deep > 50 {
        return None;
    }
    match tokens.get(at)?.text {
        "{" => closed(tokens, at),
        "for" | "while" | "if" | "switch" => {
            if tokens.get(at + 1)?.text != "(" {
                return None;
            }
            let body = closed(tokens, at + 1)?;
            let end = statement_end(tokens, body, deep + 1)?;
            if tokens.get(at)?.text == "if" && tokens.get(end).is_some_and(|t| t.text == "else") {
                return statement_end(tokens, end + 1, deep + 1);
            }
            Some(end)
        }
        "do" | "case" | "default" | "else" | "try" | "goto" | "return" | "}" => None,
        _ => {
            let mut i = at;
            loop {
                match tokens.get(i)?.text {
                    ";" => return Some(i + 1),
                    "(" | "[" | "{" => i = closed(tokens, i)?,
                    ")" | "]" | "}" => return None,
                    _ => i += 1,
                }
            }
        }
    }
}

/// Words whose functions change something that a second time would change again.
const ONCE_ONLY: [&str; 16] = [
    "alloc", "free", "delete", "destroy", "create", "swap", "push", "pop", "print", "write",
    "read", "insert", "append", "rand", "time", "sort",
];

/// Whether repeating these tokens looks harmless.
fn repeatable(body: &[Token<'_>]) -> bool {
    let mut header_end = 0;
    for (i, t) in body.iter().enumerate() {
        if t.text == "for" {
            header_end = closed(body, i + 1).unwrap_or(i).max(header_end);
        }
        match t.text {
            "return" | "goto" | "new" | "throw" | "asm" | "static" => return false,
            "++" | "--" if i >= header_end && !is_set_before(body, i) => return false,
            "+=" | "-=" | "*=" | "/=" if i >= header_end && !is_set_before(body, i) => {
                return false;
            }
            word => {
                let called = body.get(i + 1).is_some_and(|t| t.text == "(");
                let lower = word.to_lowercase();
                if word.starts_with("MPI_")
                    || (called && ONCE_ONLY.iter().any(|o| lower.contains(o)))
                {
                    return false;
                }
            }
        }
    }
    true
}

/// Whether the variable that the operator at `at` changes gets its value within these tokens first.
fn is_set_before(body: &[Token<'_>], at: usize) -> bool {
    let is_word = |t: &Token<'_>| t.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    // Walk back over indices and members to the first word of the left side.
    let (mut i, mut depth, mut name) = (at, 0i32, None);
    while let Some(t) = i.checked_sub(1).and_then(|j| body.get(j)) {
        i -= 1;
        match t.text {
            "]" | ")" => depth += 1,
            "[" | "(" if depth > 0 => depth -= 1,
            _ if depth > 0 => {}
            "." | "->" | "*" => {}
            _ if is_word(t) => {
                name = Some(t.text);
                if !body
                    .get(i.wrapping_sub(1))
                    .is_some_and(|b| b.text == "." || b.text == "->")
                {
                    break;
                }
            }
            _ => break,
        }
    }
    let Some(name) = name else { return false };
    let before = body.get(..i).unwrap_or(&[]);
    before.iter().enumerate().any(|(j, t)| {
        let mut next = j + 1;
        while before.get(next).is_some_and(|t| t.text == "[") {
            next = closed(before, next).unwrap_or(before.len());
        }
        t.text == name && before.get(next).is_some_and(|t| t.text == "=")
    })
}

/// All statements of a source that can be wrapped or preceded by others.
pub fn statements(source: &str) -> Vec<Statement> {
    let blanked = blank(source);
    let text = String::from_utf8_lossy(&blanked);
    let all = tokens(&text);
    let raw: Vec<&str> = source.split('\n').collect();
    let mut out = Vec::new();
    let mut loops: Vec<usize> = Vec::new();
    for (i, token) in all.iter().enumerate() {
        loops.retain(|end| *end > i);
        let depth = loops.len() as u32;
        if token.text == "for" || token.text == "while" {
            loops.extend(statement_end(&all, i, 0));
        }
        let follows = i.checked_sub(1).and_then(|j| all.get(j)).map(|t| t.text);
        if !token.starts_line || !matches!(follows, Some(";" | "{" | "}")) {
            continue;
        }
        // A block that a `=` opens is a list of values.
        if follows == Some("{") && all.get(i.wrapping_sub(2)).is_some_and(|t| t.text == "=") {
            continue;
        }
        out.extend(statement(&all, i, depth, &raw));
    }
    out
}

fn statement(all: &[Token<'_>], at: usize, depth: u32, raw: &[&str]) -> Option<Statement> {
    let token = all.get(at)?;
    let next = all.get(at + 1)?.text;
    let end = statement_end(all, at, 0)?;
    let body = all.get(at..end)?;
    let lower = token.text.chars().any(|c| c.is_ascii_lowercase());
    let word = token
        .text
        .starts_with(|c: char| c.is_alphabetic() || c == '_');
    let kind = match token.text {
        "for" => Kind::Loop,
        "if" | "while" | "switch" => Kind::Other,
        _ if word && lower && next == "(" && closed(all, at + 1) == Some(end - 1) => Kind::Call,
        _ if word && matches!(next, "=" | "[" | "->" | "." | "+=") => Kind::Other,
        _ => return None,
    };
    let last = body.last()?;
    if !last.ends_line {
        return None;
    }
    let loops = body.iter().filter(|t| t.text == "for" || t.text == "while");
    let before = raw.get((token.line as usize).checked_sub(2)?)?.trim_start();
    // Directives are together: the one of the threads may have an #endif after it.
    let lines = raw.get(..(token.line as usize).checked_sub(1)?)?;
    let directives = lines.iter().rev().map(|l| l.trim_start());
    let parallel = directives
        .take_while(|l| l.starts_with('#'))
        .filter_map(|l| {
            l.trim_start_matches('#')
                .trim_start()
                .strip_prefix("pragma omp")
        })
        .any(|l| l.contains("parallel") && l.contains("for"));
    let parallel_body = || {
        let open = closed(all, at + 1)?;
        let brace = all.get(open)?;
        (kind == Kind::Loop && brace.text == "{" && brace.ends_line).then_some(brace.line + 1)
    };
    Some(Statement {
        kind,
        first: token.line,
        last: last.line,
        repeatable: repeatable(body),
        innermost: kind == Kind::Loop && loops.count() == 1,
        depth,
        directed: before.starts_with('#') || before.ends_with('\\'),
        parallel_body: if parallel { parallel_body() } else { None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(source: &str, line: u32) -> Option<Statement> {
        statements(source).into_iter().find(|s| s.first == line)
    }

    #[test]
    fn comments_literals_and_directives_are_blanked_in_place() {
        let source = "a; /* for ( */ b;\n#define X { \\\n for (\nc('\\'', \"{ \\\" {\"); // {\n";
        let text = String::from_utf8(blank(source)).expect("text");
        assert_eq!(text.len(), source.len());
        assert!(!text.contains('{') && !text.contains("for") && text.contains("b;"));
        assert_eq!(text.matches('\n').count(), source.matches('\n').count());
    }

    #[test]
    fn a_loop_is_found_with_its_lines() {
        let source = "void f(int n)\n{\n  int i;\n  for (i = 0; i < n; i++)\n  {\n    a[i] = b[i];\n  }\n  g(n);\n}\n";
        let loop_ = at(source, 4).expect("a loop");
        assert_eq!((loop_.kind, loop_.last), (Kind::Loop, 7));
        assert!(loop_.repeatable && loop_.innermost);
        let inner = at(source, 6).expect("an assignment");
        assert_eq!((inner.kind, inner.depth), (Kind::Other, 1));
        assert_eq!(at(source, 8).map(|s| s.kind), Some(Kind::Call));
    }

    #[test]
    fn nothing_is_planted_below_a_condition_without_braces_or_in_a_call() {
        let source = "void f() {\n  if (x)\n    g(1);\n  else\n    h(2);\n  k(1,\n    l(2));\n}\n";
        let lines: Vec<u32> = statements(source).iter().map(|s| s.first).collect();
        assert_eq!(lines, [2, 6]);
        assert_eq!(at(source, 2).map(|s| s.last), Some(5));
        assert_eq!(at(source, 6).map(|s| s.last), Some(7));
    }

    #[test]
    fn what_adds_up_is_not_repeated_unless_it_starts_anew() {
        let sum = "void f() {\n  for (i = 0; i < n; i++)\n    s += a[i];\n}\n";
        assert!(!at(sum, 2).expect("a loop").repeatable);
        let anew = "void f() {\n  for (i = 0; i < n; i++) {\n    s = 0;\n    for (j = 0; j < n; ++j) s += a[j];\n    b[i] = s;\n  }\n}\n";
        assert!(at(anew, 2).expect("a loop").repeatable);
        let counted = "void f() {\n  for (i = 0; i < n; i++)\n    a[k++] = i;\n}\n";
        assert!(!at(counted, 2).expect("a loop").repeatable);
        let member = "void f() {\n  for (i = 0; i < n; i++)\n    p->a[i].x -= 2;\n}\n";
        assert!(!at(member, 2).expect("a loop").repeatable);
    }

    #[test]
    fn calls_that_change_the_world_are_not_repeated() {
        for call in [
            "MPI_Barrier(c);",
            "my_free(p);",
            "printf(x);",
            "VecCreate(v);",
        ] {
            let source = format!("void f() {{\n  {call}\n}}\n");
            assert!(at(&source, 2).is_none_or(|s| !s.repeatable), "{call}");
        }
    }

    #[test]
    fn a_loop_without_an_end_is_no_loop_around_others() {
        let source = "void f() {\n  for (i = 0; i < n; i++) case 1: }\n  g(1);\n}\n";
        assert!(statements(source).iter().all(|s| s.depth == 0));
    }

    #[test]
    fn a_loop_of_threads_has_a_body_to_plant_in() {
        let source = "void f() {\n  g();\n#ifdef X\n#pragma omp parallel for\n#endif\n  for (i = 0; i < n; i++) {\n    a[i] = 1;\n  }\n}\n";
        let loop_ = at(source, 6).expect("a loop");
        assert!(loop_.directed);
        assert_eq!(loop_.parallel_body, Some(7));
    }
}
