//! The patch: source text in which a cause is planted, and the lines that it is in.
//!
//! The planted statement asks `hw_take` (`xtask/truth/take.c`, `take.f90`), which reads dose and ranks from the
//! environment: one binary runs with the cause and without. `hw_take` makes no MPI call. A C source gets it before
//! its first line, a Fortran source after its last, so that it is part of the file and no line of another. What is
//! planted is between `hw_enter` and `hw_leave`, by which the bench's own layer measures it; without that layer
//! they do nothing.

use super::plan::What;
use super::sites::{Site, is_fortran};
use serde::{Deserialize, Serialize};

/// How a cause is made.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The statement itself, several times.
    Repeat,
    /// A loop of arithmetic before it.
    Work,
    /// `usleep`.
    Sleep,
    /// `write` and `fsync`.
    Io,
    /// `MPI_Sendrecv` with both neighbours in a ring.
    Message,
    /// Receive from the rank before, work, send to the next.
    Chain,
    /// Work under a POSIX mutex.
    Lock,
}

impl Method {
    /// The usual method of a class; `own_work` asks for the code's own.
    pub fn of(what: What, own_work: bool) -> Self {
        match what {
            What::Uneven | What::NonShrinking if own_work => Self::Repeat,
            What::Sleep => Self::Sleep,
            What::Io => Self::Io,
            What::Message => Self::Message,
            What::Chain => Self::Chain,
            What::Lock => Self::Lock,
            _ => Self::Work,
        }
    }
}

/// A patched source.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Patched {
    /// The whole text.
    pub text: String,
    /// First and last line of the cause.
    pub lines: [u32; 2],
    /// First and last line of all that was inserted or wrapped, traps among them.
    pub block: [u32; 2],
}

const TAKE_C: &str = include_str!("../../truth/take.c");
const TAKE_FORTRAN: &str = include_str!("../../truth/take.f90");

const WORK: [&str; 4] = [
    "{ volatile double hw_x = 1.0; long hw_i, hw_n = hw_take(1.0); if (hw_n > 0) hw_enter();",
    "  for (hw_i = 0; hw_i < hw_n; hw_i++)",
    "    hw_x = hw_x * 0.999999 + 1e-6;",
    "  if (hw_n > 0) hw_leave(); }",
];
const SLEEP: [&str; 4] = [
    "{ long hw_n = hw_take(1000.0); if (hw_n > 0) hw_enter();",
    "  if (hw_n > 0)",
    "    usleep((unsigned)hw_n);",
    "  if (hw_n > 0) hw_leave(); }",
];
const IO: [&str; 12] = [
    "{ long hw_n = hw_take(1.0);",
    "  if (hw_n > 0) {",
    "    hw_enter();",
    "    static char hw_b[65536]; int hw_f = hw_file();",
    "    for (; hw_n > 0; hw_n--) {",
    "      if (write(hw_f, hw_b, sizeof hw_b) < 0) break;",
    "      fsync(hw_f);",
    "    }",
    "    close(hw_f);",
    "    hw_leave();",
    "  }",
    "}",
];
const MESSAGE: [&str; 9] = [
    "{ static MPI_Comm hw_c; static char *hw_b; long hw_m = 1 << 22, hw_n = hw_take(1.0);",
    "  if (hw_n > 0) {",
    "    if (!hw_b) { hw_b = (char *)calloc(2, 1 << 22); MPI_Comm_dup(MPI_COMM_WORLD, &hw_c); }",
    "    for (; hw_n > 0; hw_n -= hw_m) {",
    "      if (hw_n < hw_m) hw_m = hw_n;",
    "      MPI_Sendrecv(hw_b, (int)hw_m, MPI_CHAR, (hw_rank + 1) % hw_size, 7, hw_b + (1 << 22), (int)hw_m, MPI_CHAR, (hw_rank + hw_size - 1) % hw_size, 7, hw_c, MPI_STATUS_IGNORE);",
    "    }",
    "  }",
    "}",
];
const CHAIN: [&str; 13] = [
    "{ static MPI_Comm hw_c; static int hw_on, hw_t; volatile double hw_x = 1.0; long hw_i, hw_n = hw_take(1.0);",
    "  if (hw_n > 0) {",
    "    if (!hw_on) { hw_on = 1; MPI_Comm_dup(MPI_COMM_WORLD, &hw_c); }",
    "    if (hw_rank > 0)",
    "      MPI_Recv(&hw_t, 1, MPI_INT, hw_rank - 1, 7, hw_c, MPI_STATUS_IGNORE);",
    "    hw_enter();",
    "    for (hw_i = 0; hw_i < hw_n; hw_i++)",
    "      hw_x = hw_x * 0.999999 + 1e-6;",
    "    hw_leave();",
    "    if (hw_rank + 1 < hw_size)",
    "      MPI_Send(&hw_t, 1, MPI_INT, hw_rank + 1, 7, hw_c);",
    "  }",
    "}",
];
const LOCK: [&str; 8] = [
    "{ static pthread_mutex_t hw_l = PTHREAD_MUTEX_INITIALIZER; volatile double hw_x = 1.0; long hw_i, hw_n = hw_take(1.0);",
    "  pthread_mutex_lock(&hw_l);",
    "  hw_enter();",
    "  for (hw_i = 0; hw_i < hw_n; hw_i++)",
    "    hw_x = hw_x * 0.999999 + 1e-6;",
    "  hw_leave();",
    "  pthread_mutex_unlock(&hw_l);",
    "}",
];
const WORK_FORTRAN: [&str; 13] = [
    "      block",
    "      integer, external :: hw_take",
    "      external :: hw_enter, hw_leave",
    "      integer :: hw_i, hw_n",
    "      double precision, volatile :: hw_x",
    "      hw_x = 1",
    "      hw_n = hw_take(1)",
    "      if (hw_n > 0) call hw_enter()",
    "      do hw_i = 1, hw_n",
    "        hw_x = hw_x * 0.999999d0 + 1d-6",
    "      end do",
    "      if (hw_n > 0) call hw_leave()",
    "      end block",
];
const SLEEP_FORTRAN: [&str; 16] = [
    "      block",
    "      integer, external :: hw_take",
    "      external :: hw_enter, hw_leave",
    "      integer :: hw_n, hw_m",
    "      interface",
    "      integer(4) function hw_nap(us) bind(c, name='usleep')",
    "      integer(4), value :: us",
    "      end function",
    "      end interface",
    "      hw_n = hw_take(1000)",
    "      if (hw_n > 0) then",
    "      call hw_enter()",
    "      hw_m = hw_nap(hw_n)",
    "      call hw_leave()",
    "      end if",
    "      end block",
];
const REPEAT_C: [&str; 1] = [
    "{ long hw_i, hw_n = 1 + hw_take(1.0); for (hw_i = 0; hw_i < hw_n; hw_i++) { if (hw_i == 1) hw_enter(); __asm__ volatile(\"\" ::: \"memory\");",
];
const REPEAT_FORTRAN: [&str; 7] = [
    "      block",
    "      integer, external :: hw_take",
    "      external :: hw_enter, hw_leave",
    "      integer :: hw_i, hw_n",
    "      hw_n = 1 + hw_take(1)",
    "      do hw_i = 1, hw_n",
    "      if (hw_i == 2) call hw_enter()",
];

const REPEAT_FORTRAN_END: [&str; 3] = [
    "      end do",
    "      if (hw_n > 1) call hw_leave()",
    "      end block",
];

/// What goes before and after the statement, and which of the lines before are the cause (from, to; none: all).
type Insert = (
    &'static [&'static str],
    &'static [&'static str],
    Option<(u32, u32)>,
);

fn insert(method: Method, in_fortran: bool) -> Option<Insert> {
    Some(match (method, in_fortran) {
        (Method::Repeat, false) => (&REPEAT_C, &["} if (hw_n > 1) hw_leave(); }"], None),
        (Method::Work, false) => (&WORK, &[], None),
        (Method::Sleep, false) => (&SLEEP, &[], None),
        (Method::Io, false) => (&IO, &[], None),
        (Method::Message, false) => (&MESSAGE, &[], None),
        (Method::Chain, false) => (&CHAIN, &[], Some((6, 7))),
        (Method::Lock, false) => (&LOCK, &[], None),
        (Method::Repeat, true) => (&REPEAT_FORTRAN, &REPEAT_FORTRAN_END, None),
        (Method::Work, true) => (&WORK_FORTRAN, &[], None),
        (Method::Sleep, true) => (&SLEEP_FORTRAN, &[], None),
        _ => return None,
    })
}

/// Whether a method can be written in a file's language.
pub fn can(method: Method, site: &Site) -> bool {
    insert(method, is_fortran(&site.file.to_string_lossy())).is_some()
}

/// Plants at a site; `in_threads` puts it into the body of a loop whose iterations threads share.
pub fn plant(
    source: &str,
    site: &Site,
    method: Method,
    in_threads: bool,
) -> Result<Patched, String> {
    let name = site.file.to_string_lossy();
    let in_fortran = is_fortran(&name);
    let (before, after, cause) =
        insert(method, in_fortran).ok_or(format!("{method:?} cannot be planted in {name}"))?;
    let s = &site.statement;
    let first = if in_threads {
        s.parallel_body.ok_or("no loop of threads starts here")?
    } else {
        s.first
    };
    let last = if method == Method::Repeat {
        s.last
    } else {
        first - 1
    };
    let lines: Vec<&str> = source.split('\n').collect();
    if first == 0 || last as usize > lines.len() {
        return Err(format!("{name} has no line {last}"));
    }
    let mut out: Vec<&str> = Vec::new();
    let headers = match method {
        Method::Message | Method::Chain => "#include <mpi.h>\n",
        Method::Lock => "#include <pthread.h>\n",
        _ => "",
    };
    let calloc =
        "#ifndef __cplusplus\nextern void *calloc(unsigned long, unsigned long);\n#endif\n";
    let head = match (in_fortran, method) {
        (true, _) => String::new(),
        (false, Method::Message) => format!("{headers}{calloc}{TAKE_C}"),
        (false, _) => format!("{headers}{TAKE_C}"),
    };
    out.extend(head.lines());
    let shift = out.len() as u32;
    out.extend(lines.get(..first as usize - 1).unwrap_or(&[]));
    out.extend(before);
    out.extend(lines.get(first as usize - 1..last as usize).unwrap_or(&[]));
    out.extend(after);
    out.extend(lines.get(last as usize..).unwrap_or(&[]));
    if in_fortran {
        out.extend(TAKE_FORTRAN.lines());
        out.push("");
    }
    let start = shift + first;
    let inserted = before.len() as u32 + after.len() as u32;
    let end = start + inserted + (last + 1 - first) - 1;
    let lines = cause.map_or([start, end], |(from, to)| [start + from, start + to]);
    Ok(Patched {
        text: out.join("\n"),
        lines,
        block: [start, end],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::tokens;

    fn site(source: &str, line: u32) -> Site {
        let statement = tokens::statements(source)
            .into_iter()
            .find(|s| s.first == line);
        Site {
            file: "a.c".into(),
            statement: statement.expect("a statement"),
            function: "f".into(),
            counts: vec![1, 1],
            heat: 1.0,
            callers: 1,
            inlined: false,
            template: false,
        }
    }

    const SOURCE: &str =
        "void f(int n)\n{\n  int i;\n  for (i = 0; i < n; i++)\n    a[i] = 1;\n  g();\n}\n";

    fn line(text: &str, number: u32) -> &str {
        text.split('\n').nth(number as usize - 1).unwrap_or("")
    }

    #[test]
    fn a_repeated_loop_is_wrapped_and_its_lines_are_known() {
        let planted = plant(SOURCE, &site(SOURCE, 4), Method::Repeat, false).expect("a patch");
        let [first, last] = planted.lines;
        assert!(line(&planted.text, first).contains("hw_take"));
        assert_eq!(line(&planted.text, first + 1), "  for (i = 0; i < n; i++)");
        assert!(line(&planted.text, last).starts_with("} if (hw_n > 1) hw_leave()"));
        assert_eq!(line(&planted.text, last + 1), "  g();");
    }

    #[test]
    fn inserted_work_keeps_the_statement_after_it() {
        let planted = plant(SOURCE, &site(SOURCE, 6), Method::Work, false).expect("a patch");
        let [first, last] = planted.lines;
        assert_eq!(last - first, 3);
        assert_eq!(line(&planted.text, last + 1), "  g();");
        assert_eq!(line(&planted.text, first - 1), "    a[i] = 1;");
    }

    #[test]
    fn of_a_chain_the_work_is_the_cause_and_the_receive_is_not() {
        let planted = plant(SOURCE, &site(SOURCE, 6), Method::Chain, false).expect("a patch");
        let [first, last] = planted.lines;
        assert!(line(&planted.text, first).contains("for (hw_i"));
        assert!(line(&planted.text, last).contains("hw_x ="));
        assert!(planted.block[0] < first && planted.block[1] > last);
    }
}
