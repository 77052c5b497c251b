//! Statements of Fortran sources at which something can be planted: `do` loops and calls, in both source forms.

use super::tokens::{Kind, Statement};

/// A source line without its comment, in lower case; empty for a comment.
fn code_of(line: &str, fixed: bool) -> String {
    let first = line.chars().next();
    if fixed && first.is_some_and(|c| "cC*!dD".contains(c)) {
        return String::new();
    }
    let mut quote = None;
    let mut out = String::new();
    for c in line.chars() {
        match quote {
            Some(q) if c == q => quote = None,
            Some(_) => continue,
            None if c == '!' => break,
            None if c == '\'' || c == '"' => quote = Some(c),
            None => {}
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

/// Whether a file's name is that of the fixed source form.
pub fn is_fixed(file: &str) -> bool {
    let ending = file.rsplit('.').next().unwrap_or("").to_lowercase();
    matches!(ending.as_str(), "f" | "for" | "ftn")
}

/// The label that starts a line, and the rest.
fn label(code: &str) -> (Option<u32>, &str) {
    let text = code.trim();
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let (number, rest) = text.split_at(digits);
    (number.parse().ok(), rest.trim_start())
}

/// What a line does to the nesting of loops.
enum Line {
    Begin(Option<u32>),
    End,
    Call,
    Other,
}

fn kind_of(text: &str) -> Line {
    let word = |w: &str| {
        text.strip_prefix(w)
            .is_some_and(|r| r.is_empty() || r.starts_with([' ', '(']))
    };
    if text == "enddo" || text.starts_with("enddo ") || text.starts_with("end do") {
        return Line::End;
    }
    if word("call") {
        return Line::Call;
    }
    let Some(rest) = text.strip_prefix("do").filter(|_| word("do")) else {
        return Line::Other;
    };
    let rest = rest.trim_start();
    if rest.starts_with("while") || rest.starts_with("concurrent") || rest.is_empty() {
        return Line::Begin(None);
    }
    let (target, rest) = label(rest);
    if rest.contains('=') || target.is_some() {
        Line::Begin(target)
    } else {
        Line::Other
    }
}

struct Open {
    first: u32,
    target: Option<u32>,
    inner: bool,
    depth: u32,
}

/// All loops and calls of a source.
pub fn statements(source: &str, fixed: bool) -> Vec<Statement> {
    let lines: Vec<&str> = source.split('\n').collect();
    let codes: Vec<String> = lines.iter().map(|l| code_of(l, fixed)).collect();
    let continues = |i: usize| {
        let next = codes.get(i + 1);
        let sixth = |c: &String| {
            c.starts_with("     ") && c.chars().nth(5).is_some_and(|c| c != ' ' && c != '0')
        };
        if fixed {
            next.is_some_and(sixth)
        } else {
            codes.get(i).is_some_and(|c| c.trim_end().ends_with('&'))
        }
    };
    let mut out: Vec<Statement> = Vec::new();
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while at < codes.len() {
        let first = at;
        while continues(at) {
            at += 1;
        }
        let code = codes.get(first).map_or("", String::as_str);
        let (own, text) = label(code);
        let line = |i: usize| i as u32 + 1;
        let close = |o: &Open, last: u32, open_left: u32| {
            let body = codes
                .get(o.first as usize - 1..last as usize)
                .unwrap_or(&[]);
            Statement {
                kind: Kind::Loop,
                first: o.first,
                last,
                repeatable: repeatable(body),
                innermost: !o.inner,
                depth: o.depth.min(open_left),
                directed: directed(&lines, o.first),
                parallel_body: None,
            }
        };
        match kind_of(text) {
            Line::Begin(target) => {
                open.iter_mut().for_each(|o| o.inner = true);
                open.push(Open {
                    first: line(first),
                    target,
                    inner: false,
                    depth: open.len() as u32,
                });
            }
            Line::End => {
                if let Some(o) = open.pop() {
                    out.push(close(&o, line(at), open.len() as u32));
                }
            }
            Line::Call if own.is_none() => out.push(Statement {
                kind: Kind::Call,
                first: line(first),
                last: line(at),
                repeatable: false,
                innermost: false,
                depth: open.len() as u32,
                directed: directed(&lines, line(first)),
                parallel_body: None,
            }),
            _ => {}
        }
        // Several loops may end at one label.
        while own.is_some() && open.last().is_some_and(|o| o.target == own) {
            if let Some(o) = open.pop() {
                out.push(close(&o, line(at), open.len() as u32));
            }
        }
        at += 1;
    }
    // Of loops that end at one label only the outermost can be wrapped.
    let outermost: Vec<Statement> = out
        .iter()
        .filter(|s| {
            !out.iter()
                .any(|o| o.kind == Kind::Loop && o.last == s.last && o.first < s.first)
        })
        .cloned()
        .collect();
    let mut sorted = outermost;
    sorted.sort_by_key(|s| s.first);
    sorted
}

/// Whether the line before is a directive.
fn directed(lines: &[&str], first: u32) -> bool {
    let before = (first as usize).checked_sub(2).and_then(|i| lines.get(i));
    before.is_some_and(|l| {
        let l = l.trim_start().to_lowercase();
        l.starts_with('#') || l.starts_with("!$") || l.starts_with("c$") || l.ends_with('&')
    })
}

/// Whether repeating a loop looks harmless: each thing that it adds to starts anew within it.
fn repeatable(body: &[String]) -> bool {
    let mut set: Vec<String> = Vec::new();
    for line in body {
        let (_, text) = label(line);
        let words = [
            "call ", "return", "goto", "go to", "allocate", "write", "print", "read", "exit",
        ];
        if words.iter().any(|w| text.contains(w)) {
            return false;
        }
        let Some((left, right)) = assignment(text) else {
            continue;
        };
        let name = |t: &str| -> String {
            t.chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect()
        };
        let own = name(left.trim());
        let uses = right
            .split(|c: char| !(c.is_alphanumeric() || c == '_'))
            .any(|w| w == own);
        if uses && !set.contains(&own) {
            return false;
        }
        set.push(own);
    }
    true
}

/// Both sides of an assignment.
fn assignment(text: &str) -> Option<(&str, &str)> {
    if text.starts_with("do ") || text.starts_with("if") || text.starts_with("end") {
        // What a one-line condition sets is looked at too.
        let rest = text.strip_prefix("if")?;
        let mut open = 0;
        let end = rest.char_indices().find_map(|(i, c)| {
            open += i32::from(c == '(') - i32::from(c == ')');
            (c == ')' && open == 0).then_some(i + 1)
        })?;
        let rest = rest.get(end..)?.trim_start();
        return if rest.starts_with("then") {
            None
        } else {
            assignment(rest)
        };
    }
    let at = text.find('=')?;
    let (left, right) = (text.get(..at)?, text.get(at + 1..)?);
    let compares = right.starts_with('=') || left.ends_with(['<', '>', '/', '=']);
    (!compares).then_some((left, right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_and_calls_of_the_free_form() {
        let source = "subroutine f\ndo i = 1, n ! all\n  do j = 1, n\n    a(i,j) = b(i,j)\n  end do\nend do\ncall g(a, &\n  b)\nif (x) call h\nend\n";
        let all = statements(source, false);
        let lines: Vec<(u32, u32)> = all.iter().map(|s| (s.first, s.last)).collect();
        assert_eq!(lines, [(2, 6), (3, 5), (7, 8)]);
        assert!(all[0].repeatable && !all[0].innermost && all[1].innermost);
        assert_eq!(all[1].depth, 1);
    }

    #[test]
    fn loops_that_share_a_label_end_together() {
        let source = "      DO 10 I = 1, N\n      DO 10 J = 1, N\n        A(I,J) = B(J,\n     $    I)\n   10 CONTINUE\nC     DO 20 K\n      CALL F(A)\n";
        let all = statements(source, true);
        let lines: Vec<(u32, u32)> = all.iter().map(|s| (s.first, s.last)).collect();
        assert_eq!(lines, [(1, 5), (7, 7)]);
    }

    #[test]
    fn sums_are_not_repeated_unless_they_start_anew() {
        let sum = "do i = 1, n\n s = s + a(i)\nend do\n";
        assert!(!statements(sum, false)[0].repeatable);
        let anew = "do i = 1, n\n s = 0\n do j = 1, n\n s = s + a(j)\n end do\n b(i) = s\nend do\n";
        assert!(statements(anew, false)[0].repeatable);
        let condition = "do i = 1, n\n if (a(i) > 0) k = k + 1\nend do\n";
        assert!(!statements(condition, false)[0].repeatable);
    }
}
