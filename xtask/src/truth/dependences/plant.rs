//! Loops whose bounds come from a known origin, as text to plant into a source of C or C++.

use super::super::plan::Random;
use super::super::tokens::{Kind, Statement, statements};

/// What a bound comes from.
#[derive(Clone, Copy, Debug)]
pub struct Cause {
    pub words: &'static str,
    /// Whether ranks differ; otherwise the work stays the same on more ranks, or grows.
    pub uneven: bool,
    /// Origins, as the structure names them.
    pub truth: &'static [&'static str],
    /// Statements that give `hw_v` its value.
    setup: &'static [&'static str],
}

const fn cause(
    words: &'static str,
    uneven: bool,
    truth: &'static [&'static str],
    setup: &'static [&'static str],
) -> Cause {
    Cause {
        words,
        uneven,
        truth,
        setup,
    }
}

/// All causes; the last one takes a variable of the code's own.
pub const CAUSES: [Cause; 12] = [
    cause(
        "grows with the rank",
        true,
        &["rank"],
        &[
            "MPI_Comm_rank(MPI_COMM_WORLD, &hw_v);",
            "hw_v = 500 + 100 * hw_v;",
        ],
    ),
    cause(
        "one rank has more",
        true,
        &["rank"],
        &[
            "int hw_r;",
            "MPI_Comm_rank(MPI_COMM_WORLD, &hw_r);",
            "hw_v = hw_r == 0 ? 5000 : 500;",
        ],
    ),
    cause(
        "a block by rank and size",
        true,
        &["rank", "size"],
        &[
            "int hw_r, hw_s;",
            "MPI_Comm_rank(MPI_COMM_WORLD, &hw_r);",
            "MPI_Comm_size(MPI_COMM_WORLD, &hw_s);",
            "hw_v = 7777 * (hw_r + 1) / hw_s - 7777 * hw_r / hw_s;",
        ],
    ),
    cause(
        "what a neighbour sends",
        true,
        &["message"],
        &[
            "int hw_o = 500;",
            "MPI_Sendrecv(&hw_o, 1, MPI_INT, 0, 7, &hw_v, 1, MPI_INT, 0, 7, MPI_COMM_SELF, MPI_STATUS_IGNORE);",
        ],
    ),
    cause(
        "its share of a scatter",
        true,
        &["message"],
        &[
            "int hw_o[4096] = {500, 600, 700, 800};",
            "MPI_Scatter(hw_o, 1, MPI_INT, &hw_v, 1, MPI_INT, 0, MPI_COMM_WORLD);",
        ],
    ),
    cause(
        "a prefix sum",
        true,
        &["reduction"],
        &[
            "int hw_o = 500;",
            "MPI_Scan(&hw_o, &hw_v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);",
        ],
    ),
    cause("a constant", false, &["constant"], &["hw_v = 5000;"]),
    cause(
        "the environment",
        false,
        &["input"],
        &[
            "const char *hw_t = getenv(\"HW_N\");",
            "hw_v = hw_t ? atoi(hw_t) : 500;",
        ],
    ),
    cause(
        "grows with the ranks",
        false,
        &["size"],
        &[
            "MPI_Comm_size(MPI_COMM_WORLD, &hw_v);",
            "hw_v = 100 * hw_v;",
        ],
    ),
    cause(
        "what rank 0 broadcasts",
        false,
        &["message"],
        &[
            "hw_v = 500;",
            "MPI_Bcast(&hw_v, 1, MPI_INT, 0, MPI_COMM_WORLD);",
        ],
    ),
    cause(
        "the largest of all ranks",
        false,
        &["reduction"],
        &[
            "int hw_o = 500;",
            "MPI_Allreduce(&hw_o, &hw_v, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);",
        ],
    ),
    cause("the code's own rank variable", true, &["rank"], &[]),
];

/// How a value gets to the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    Local,
    Returned,
    OutParameter,
    Static,
    Structure,
    Parameter,
}

/// All carriers, in words.
pub const CARRIERS: [(Carrier, &str); 6] = [
    (Carrier::Local, "a local variable"),
    (Carrier::Returned, "a function's result"),
    (Carrier::OutParameter, "an out-parameter"),
    (Carrier::Static, "a static variable"),
    (Carrier::Structure, "a structure's member"),
    (Carrier::Parameter, "a parameter of the loop's function"),
];

/// What was drawn for a case.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    pub cause: &'static Cause,
    pub carrier: Carrier,
    pub carrier_words: &'static str,
    /// Whether the loop repeats the code's own statement; otherwise it computes.
    pub repeats: bool,
}

/// Draws what to plant: uneven and non-shrinking work in turn.
pub fn wish(random: &mut Random, number: usize) -> Wish {
    let all: Vec<&'static Cause> = CAUSES
        .iter()
        .filter(|c| c.uneven == number.is_multiple_of(2))
        .collect();
    let cause = all[random.below(all.len())];
    let (carrier, carrier_words) = match cause.setup.is_empty() {
        true => (Carrier::Local, "the code's own"),
        false => CARRIERS[random.below(CARRIERS.len())],
    };
    let repeats = random.below(2) == 0 && carrier != Carrier::Parameter;
    Wish {
        cause,
        carrier,
        carrier_words,
        repeats,
    }
}

/// A patched source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patched {
    pub text: String,
    /// Line of the loop.
    pub line: u32,
}

/// Calls that give a variable of the code its rank.
const RANK_CALLS: [&str; 1] = ["Comm_rank"];

/// The variable that a line gives the rank, where it is a plain one.
fn own_rank(line: &str) -> Option<&str> {
    let line = line.trim();
    let call = RANK_CALLS.iter().find_map(|c| line.split_once(c))?;
    let (_, last) = call.1.trim().strip_prefix('(')?.split_once(',')?;
    let name = last.trim().strip_prefix('&')?.strip_suffix(';')?.trim_end();
    let name = name.strip_suffix(')')?.trim();
    let plain = |c: char| c.is_alphanumeric() || c == '_';
    let ends = !name.is_empty() && name.chars().all(plain) && line.ends_with(';');
    ends.then_some(name)
}

/// The statements of a source that a wish can be planted at.
pub fn places(source: &str, wish: &Wish) -> Vec<Statement> {
    let lines: Vec<&str> = source.split('\n').collect();
    let mut all = statements(source);
    all.retain(|s| {
        let own = || {
            let line = lines.get(s.first as usize - 1);
            s.first == s.last && line.is_some_and(|l| own_rank(l).is_some())
        };
        let fits = match wish.cause.setup.is_empty() {
            true => own(),
            false => true,
        };
        let repeats = || s.repeatable && matches!(s.kind, Kind::Loop | Kind::Call);
        fits && !s.directed && s.parallel_body.is_none() && (!wish.repeats || own() || repeats())
    });
    all
}

/// Plants a loop before a statement, or behind it where its variable is used. `number` keeps the names of cases apart.
pub fn plant(source: &str, at: &Statement, wish: &Wish, number: usize) -> Option<Patched> {
    let lines: Vec<&str> = source.split('\n').collect();
    let (first, last) = (at.first as usize - 1, at.last as usize);
    let own = lines.get(first..last)?;
    let setup = wish.cause.setup.join(" ");
    let (f, g) = (format!("hw_f{number}"), format!("hw_g{number}"));
    let mut head: Vec<String> = vec!["#include <mpi.h>".into(), "#include <stdlib.h>".into()];
    let attribute = "static __attribute__((noinline))";
    let (work, no_more) = ("  hw_x = hw_x * 0.999999 + 1e-6;", "}");
    let header = |bound: &str| format!("for (hw_i = 0; hw_i < {bound}; hw_i++) {{");
    let declared = "{ volatile double hw_x = 1.0; long hw_i; (void)hw_x;";
    let mut block: Vec<String> = Vec::new();
    // What the loop's bound is, after what makes it.
    let bound = match wish.carrier {
        _ if wish.cause.setup.is_empty() => {
            block.push(declared.into());
            format!("500 + 100 * {}", own_rank(own.first()?)?)
        }
        Carrier::Local => {
            block.push(format!("{declared} int hw_v = 0; {setup}"));
            "hw_v".into()
        }
        Carrier::Returned => {
            head.push(format!(
                "{attribute} int {f}(void) {{ int hw_v = 0; {setup} return hw_v; }}"
            ));
            block.push(format!("{declared} int hw_n = {f}();"));
            "hw_n".into()
        }
        Carrier::OutParameter => {
            head.push(format!(
                "{attribute} void {f}(int *hw_p) {{ int hw_v = 0; {setup} *hw_p = hw_v; }}"
            ));
            block.push(format!("{declared} int hw_n = 0; {f}(&hw_n);"));
            "hw_n".into()
        }
        Carrier::Static => {
            head.push(format!(
                "static int {g}; {attribute} void {f}(void) {{ int hw_v = 0; {setup} {g} = hw_v; }}"
            ));
            block.push(format!("{declared} {f}();"));
            g
        }
        Carrier::Structure => {
            head.push(format!("struct {g} {{ int hw_a, hw_n; }}; {attribute} void {f}(struct {g} *hw_p) {{ int hw_v = 0; {setup} hw_p->hw_a = 1; hw_p->hw_n = hw_v; }}"));
            block.push(format!("{declared} struct {g} hw_s; {f}(&hw_s);"));
            "hw_s.hw_n".into()
        }
        Carrier::Parameter => {
            head.push(format!("{attribute} void {f}(int hw_n) {declared}"));
            head.push(header("hw_n"));
            let line = head.len() as u32;
            head.extend([work.into(), no_more.into(), no_more.into()]);
            block.push(format!("{{ int hw_v = 0; {setup} {f}(hw_v); }}"));
            let text = text(&lines, &head, first, &block, None);
            return Some(Patched { text, line });
        }
    };
    block.push(header(&bound));
    // Its place, unless the statement is inside or before it.
    let uses_own = wish.cause.setup.is_empty();
    let wraps = wish.repeats && !uses_own;
    let at = if uses_own { last } else { first };
    let line = (head.len() + at + block.len()) as u32;
    if wraps {
        block.push("__asm__ volatile(\"\" ::: \"memory\");".into());
        block.extend(own.iter().map(|l| l.to_string()));
    } else {
        block.push(work.into());
    }
    block.extend([no_more.into(), no_more.into()]);
    let text = text(&lines, &head, at, &block, wraps.then_some(last));
    Some(Patched { text, line })
}

/// A source with a head and a block before line `at`, in place of the lines up to `without`.
fn text(
    lines: &[&str],
    head: &[String],
    at: usize,
    block: &[String],
    without: Option<usize>,
) -> String {
    let mut out: Vec<&str> = head.iter().map(String::as_str).collect();
    out.extend(lines.get(..at).unwrap_or(&[]));
    out.extend(block.iter().map(String::as_str));
    out.extend(lines.get(without.unwrap_or(at)..).unwrap_or(&[]));
    out.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "void f(int n)\n{\n  int i, me;\n  MPI_Comm_rank(c, &me);\n  for (i = 0; i < n; i++)\n    a[i] = 1;\n  g();\n}\n";

    #[test]
    fn the_line_of_a_planted_loop_is_that_of_its_header() {
        for cause in &CAUSES {
            for (carrier, carrier_words) in CARRIERS {
                for repeats in [false, true] {
                    let wish = Wish {
                        cause,
                        carrier,
                        carrier_words,
                        repeats,
                    };
                    for at in places(SOURCE, &wish) {
                        let patched = plant(SOURCE, &at, &wish, 3).expect("a patch");
                        let line = patched.text.split('\n').nth(patched.line as usize - 1);
                        let line = line.expect("a line");
                        assert!(
                            line.starts_with("for (hw_i = 0;"),
                            "{wish:?}: {}",
                            patched.text
                        );
                        for own in SOURCE.trim_end().split('\n') {
                            assert!(patched.text.contains(own), "{own}: {}", patched.text);
                        }
                        let signs = |c| patched.text.matches(c).count();
                        assert_eq!(signs('{'), signs('}'), "{}", patched.text);
                    }
                }
            }
        }
    }

    #[test]
    fn the_code_s_own_rank_is_a_plain_variable() {
        assert_eq!(
            own_rank("  hypre_MPI_Comm_rank(comm, &my_id );"),
            Some("my_id")
        );
        assert_eq!(own_rank("  MPI_Comm_rank(world,&me);"), Some("me"));
        assert_eq!(own_rank("  MPI_Comm_rank(world, &p->me);"), None);
        assert_eq!(own_rank("  MPI_Comm_rank(world, me);"), None);
        assert_eq!(own_rank("  MPI_Comm_size(world, &n);"), None);
    }

    #[test]
    fn uneven_and_non_shrinking_work_take_turns() {
        let mut random = Random::new(1, 0);
        let uneven = (0..6).map(|n| wish(&mut random, n).cause.uneven);
        assert_eq!(
            uneven.collect::<Vec<_>>(),
            [true, false, true, false, true, false]
        );
    }
}
