//! What a trace's numbers are called: the types of events and their values (`.pcf`), and the nodes (`.row`).

use super::places::kind;
use rustc_hash::FxHashMap;

/// Names of types and values.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    types: FxHashMap<u64, String>,
    values: FxHashMap<(u64, u64), String>,
}

/// Where in the file a line is.
#[derive(PartialEq)]
enum Part {
    Types,
    Values,
    Other,
}

impl Labels {
    /// Reads the text of a `.pcf`. What has another form is of no concern here: colours, states, gradients.
    pub fn parse(text: &str) -> Self {
        let mut this = Self::default();
        let (mut part, mut types) = (Part::Other, Vec::new());
        for line in text.lines().map(str::trim) {
            let begins = line.chars().next();
            match line {
                "EVENT_TYPE" => (part, types) = (Part::Types, Vec::new()),
                "VALUES" => part = Part::Values,
                "" if part == Part::Values => part = Part::Other,
                "" => {}
                _ if !begins.is_some_and(|c| c.is_ascii_digit()) => part = Part::Other,
                _ => this.line(&part, &mut types, line),
            }
        }
        this
    }

    fn line(&mut self, part: &Part, types: &mut Vec<u64>, line: &str) {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match part {
            Part::Types => {
                let rest = rest.trim_start();
                let (id, label) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
                if let Ok(id) = id.parse() {
                    types.push(id);
                    self.types.insert(id, label.trim().to_string());
                }
            }
            Part::Values => {
                if let Ok(value) = first.parse() {
                    for kind in types {
                        self.values.insert((*kind, value), rest.trim().to_string());
                    }
                }
            }
            Part::Other => {}
        }
    }

    /// What a value of a type is called.
    pub fn value(&self, kind: u64, value: u64) -> Option<&str> {
        self.values.get(&(kind, value)).map(String::as_str)
    }

    /// What a type is called.
    pub fn kind(&self, kind: u64) -> Option<&str> {
        self.types.get(&kind).map(String::as_str)
    }

    /// The program, if lines say in which file each is (`31 (app.c, /home/user/app)`): the one of most lines that is no
    /// library.
    pub fn program(&self) -> Option<String> {
        let mut lines: FxHashMap<&str, usize> = FxHashMap::default();
        for ((_, _), label) in self.values.iter().filter(|((k, _), _)| kind::is_line(*k)) {
            let module = line_of(label).and_then(|l| l.module);
            let is_program =
                |m: &&str| !NOTHING.contains(m) && !m.contains(".so") && !m.starts_with('[');
            if let Some(module) = module.filter(is_program) {
                *lines.entry(module).or_default() += 1;
            }
        }
        let most = lines
            .into_iter()
            .max_by_key(|(file, n)| (*n, std::cmp::Reverse(*file)));
        most.map(|(file, _)| file.to_string())
    }

    /// The types, in their order.
    pub fn kinds(&self) -> Vec<u64> {
        let mut all: Vec<u64> = self.types.keys().copied().collect();
        all.sort_unstable();
        all
    }
}

/// What a label has in place of an address that the tracer did not find.
const NOTHING: [&str; 5] = ["", "End", "Unresolved", "_NOT_Found", "NOT_Found"];

/// Short and full form of a label such as `SHORT [FULL]`.
fn forms(label: &str) -> (&str, Option<&str>) {
    let whole = label.trim();
    let parts = whole.split_once(" [");
    let parts = parts.and_then(|(short, full)| Some((short.trim(), full.strip_suffix(']')?)));
    parts.map_or((whole, None), |(short, full)| (short, Some(full.trim())))
}

/// A line of the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Its number.
    pub number: u32,
    /// The file that it is in; empty where unknown.
    pub file: &'a str,
    /// The program or library.
    pub module: Option<&'a str>,
}

/// The line of a label: `31 (app.c, MODULE)`, with a short form of a long name of the file before it
/// (`31 (a_long_n..ame_of.c) [31 (a_long_name_of.c, MODULE)]`), or `app.c:31 [/path/app.c:31, MODULE]`, as later versions
/// write it. The module may be missing.
pub fn line_of(label: &str) -> Option<Line<'_>> {
    let (short, full) = forms(label);
    let whole = full.unwrap_or(short);
    let (number, file, module) = match whole.split_once(" (") {
        Some((number, inside)) => {
            let inside = inside.strip_suffix(')')?;
            let (file, module) = inside
                .split_once(", ")
                .map_or((inside, None), |(f, m)| (f, Some(m)));
            (number, file, module)
        }
        None => {
            let (place, module) = whole
                .split_once(", ")
                .map_or((whole, None), |(p, m)| (p, Some(m)));
            let (file, number) = place.rsplit_once(':')?;
            (number, file, module)
        }
    };
    let file = file.trim();
    Some(Line {
        number: number.trim().parse().ok()?,
        file: if NOTHING.contains(&file) { "" } else { file },
        module: module.map(str::trim),
    })
}

/// A function of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether that is an abbreviation, which several functions may have.
    pub short: bool,
}

/// The function of a label: `solve`, `solve [MODULE]`, `a_long_n..function [a_long_name_of_a_function]`, or
/// `solve [solve(int)]`, as later versions write it; `None` for what represents nothing.
pub fn function_of(label: &str) -> Option<Function<'_>> {
    let (short, full) = forms(label);
    if NOTHING.contains(&short) {
        return None;
    }
    // What is in brackets is the name if it begins and ends as the abbreviation does.
    let is_name = |full: &&str| match short.split_once("..") {
        Some((begin, end)) => full.starts_with(begin) && full.ends_with(end),
        None => full
            .strip_prefix(short)
            .is_some_and(|rest| rest.starts_with(['<', '('])),
    };
    let name = full.filter(is_name);
    Some(Function {
        name: name.unwrap_or(short),
        short: name.is_none() && short.contains(".."),
    })
}

/// The counter of a label such as `PAPI_TOT_INS [Instr completed]` or `Instr completed (PAPI_TOT_INS)`.
pub fn counter_of(label: &str) -> String {
    let inside = label
        .rsplit_once('(')
        .map(|(_, i)| i.trim_end_matches(')').trim());
    let name = match inside.filter(|i| !i.is_empty() && !i.contains(' ')) {
        Some(inside) => inside,
        None => label.split(" [").next().unwrap_or(label),
    };
    name.split_whitespace().collect::<Vec<_>>().join("_")
}

/// Names of nodes in the text of a `.row`.
pub fn nodes(text: &str) -> Vec<String> {
    let mut lines = text.lines().map(str::trim);
    let head = lines.by_ref().find(|l| l.starts_with("LEVEL NODE SIZE"));
    let size = head.and_then(|l| l.rsplit(' ').next()?.parse::<usize>().ok());
    lines.take(size.unwrap_or(0)).map(str::to_string).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_belong_to_all_types_of_their_block() {
        let text = "DEFAULT_OPTIONS\nLEVEL THREAD\n\nSTATES\n0 Idle\n\nEVENT_TYPE\n9  50000001    MPI Point-to-point\n\
            9  50000002  MPI Collective Comm\nVALUES\n0   Outside MPI\n8   MPI_Barrier\n\n\nEVENT_TYPE\n\
            7  42000050  PAPI_TOT_INS [Instr completed]\n";
        let labels = Labels::parse(text);
        assert_eq!(labels.value(50_000_002, 8), Some("MPI_Barrier"));
        assert_eq!(labels.value(50_000_001, 8), Some("MPI_Barrier"));
        assert_eq!(labels.value(0, 0), None);
        assert_eq!(labels.kinds(), [42_000_050, 50_000_001, 50_000_002]);
        assert_eq!(counter_of(labels.kind(42_000_050).unwrap()), "PAPI_TOT_INS");
        assert_eq!(counter_of("Instr completed (PAPI_TOT_INS)"), "PAPI_TOT_INS");
        assert_eq!(counter_of("two words"), "two_words");
    }

    #[test]
    fn the_program_is_the_file_of_most_lines() {
        let program = |lines: &[&str]| {
            let lines = (0..).zip(lines).map(|(n, l)| format!("{n} {l}\n"));
            let lines: String = lines.collect();
            let head = "EVENT_TYPE\n0 80000001 Caller line at level 1\nVALUES\n";
            Labels::parse(&(head.to_string() + &lines)).program()
        };
        let app = Some("/b/app".to_string());
        let in_app = "31 (app.c, /b/app)";
        let shortened = "31 (a_long_n..ame_of.c) [31 (a_long_name_of.c, /b/app)]";
        assert_eq!(program(&[shortened, "app.c:9 [/s/app.c:9, /b/app]"]), app);
        assert_eq!(
            program(&[in_app, "7 (x.c, /lib/x.so.1)", "9 (x.c, /lib/x.so.1)"]),
            app
        );
        assert_eq!(
            program(&["2 (a.c, /b/b)", "3 (a.c, /b/app)", "4 (b.c)"]),
            app
        );
        assert_eq!(program(&["31 (app.c)", "Unresolved, x)"]), None);
        let unknown = "Unresolved:0 [Unresolved:0, Unresolved]";
        let of_kernel = "x.c:1 [x.c:1, [vdso]]";
        assert_eq!(program(&[unknown, of_kernel]), None);
    }

    #[test]
    fn places_are_read_out_of_their_labels() {
        let line = |label| line_of(label).map(|l| (l.number, l.file, l.module));
        let app = Some("/home/user/app");
        assert_eq!(line("31 (app.c, /home/user/app)"), Some((31, "app.c", app)));
        assert_eq!(line("31 (app.c)"), Some((31, "app.c", None)));
        let short = "31 (a_long_n..ame_of.c) [31 (a_long_name_of.c, /home/user/app)]";
        assert_eq!(line(short), Some((31, "a_long_name_of.c", app)));
        let later = "app.c:31 [/home/user/app.c:31, /home/user/app]";
        assert_eq!(line(later), Some((31, "/home/user/app.c", app)));
        assert_eq!(line("app.c:31"), Some((31, "app.c", None)));
        assert_eq!(line("0 (Unresolved)"), Some((0, "", None)));
        for none in ["Unresolved", "31 (app.c", "x (app.c)", "31 [", ":", ""] {
            assert_eq!(line(none), None, "{none}");
        }
        let function = |label| function_of(label).map(|f| (f.name, f.short));
        assert_eq!(function("solve [app]"), Some(("solve", false)));
        let (long, short) = ("compute_residual_of_x", "compute_..al_of_x");
        let both = format!("{short} [{long}]");
        assert_eq!(
            function_of(&both).map(|f| (f.name, f.short)),
            Some((long, false))
        );
        assert_eq!(function(short), Some((short, true)));
        let later = "ns::solve [ns::solve<double>(int [3])]";
        assert_eq!(function(later), Some(("ns::solve<double>(int [3])", false)));
        assert_eq!(function("_NOT_Found"), None);
        assert_eq!(
            nodes("LEVEL CPU SIZE 1\n1.a\n\nLEVEL NODE SIZE 2\na\nb\n\nLEVEL X SIZE 1\n"),
            ["a", "b"]
        );
    }
}
