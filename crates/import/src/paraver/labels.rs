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

    /// The program, if lines of callers say in which file each is (`31 (app.c, /home/user/app)`): the one of most lines
    /// that is no library.
    pub fn program(&self) -> Option<String> {
        let mut lines: FxHashMap<&str, usize> = FxHashMap::default();
        let of_lines = |kind: &u64| kind::CALLERS.contains(&kind.wrapping_sub(kind::TO_LINES));
        for ((_, _), label) in self.values.iter().filter(|((kind, _), _)| of_lines(kind)) {
            let file = line_of(label).and_then(|_| label.split_once(',')?.1.strip_suffix(')'));
            if let Some(file) = file
                .map(str::trim)
                .filter(|f| !f.is_empty() && !f.contains(".so"))
            {
                *lines.entry(file).or_default() += 1;
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

/// Line, and file, of a label such as `31 (app.c, /home/user/app)`.
pub fn line_of(label: &str) -> Option<(u32, &str)> {
    let (line, rest) = label.split_once(char::is_whitespace)?;
    let file = rest.trim().strip_prefix('(')?.split([',', ')']).next()?;
    Some((line.parse().ok()?, file.trim()))
}

/// The function of a label such as `solve` or `solve [app]`; `None` for what stands for nothing.
pub fn function_of(label: &str) -> Option<&str> {
    let name = label.split(" [").next().unwrap_or(label).trim();
    let nothing = ["", "End", "Unresolved", "_NOT_Found", "NOT_Found"];
    (!nothing.contains(&name)).then_some(name)
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
        assert_eq!(
            program(&[in_app, "7 (x.c, /lib/x.so.1)", "9 (x.c, /lib/x.so.1)"]),
            app
        );
        assert_eq!(
            program(&["2 (a.c, /b/b)", "3 (a.c, /b/app)", "4 (b.c)"]),
            app
        );
        assert_eq!(program(&["31 (app.c)", "Unresolved, x)"]), None);
    }

    #[test]
    fn places_are_read_out_of_their_labels() {
        assert_eq!(line_of("31 (app.c, /home/user/app)"), Some((31, "app.c")));
        assert_eq!(line_of("31 (app.c)"), Some((31, "app.c")));
        assert_eq!(line_of("Unresolved"), None);
        assert_eq!(function_of("solve [app]"), Some("solve"));
        assert_eq!(function_of("_NOT_Found"), None);
        assert_eq!(
            nodes("LEVEL CPU SIZE 1\n1.a\n\nLEVEL NODE SIZE 2\na\nb\n\nLEVEL X SIZE 1\n"),
            ["a", "b"]
        );
    }
}
