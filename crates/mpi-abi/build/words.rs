//! What each word of `functions.txt` means: which fields of an event an argument becomes.

/// Kind, form, and whether the value is read after the call.
type Meaning = (&'static str, &'static str, bool);

/// The meaning of a word; `None` for an argument that is no field.
fn meaning(word: &str) -> Option<Meaning> {
    let (kind, form) = match word {
        "buf" => ("Buffer", "Address"),
        "num" | "low" | "high" => ("Int", "Int"),
        "long" => ("Size", "Long"),
        "old" => ("Size", "OldLong"),
        "offset" => ("Offset", "Long"),
        "view" => ("View", "Long"),
        "ncount" | "count" | "rcount" | "n" | "parts" => ("Count", "Int"),
        "lcount" => ("Count", "Long"),
        "place" => ("Size", "PointedInt"),
        "lplace" => ("Size", "PointedLong"),
        "bool" => ("Flag", "Int"),
        "rank" | "dest" | "source" => ("Peer", "Int"),
        "root" => ("Root", "Int"),
        "tag" | "rtag" => ("Tag", "Int"),
        "promise" | "assert" => ("Assert", "Int"),
        "lock" => ("Lock", "Int"),
        "amode" => ("Amode", "Int"),
        "split" => ("SplitType", "Int"),
        "color" => ("Color", "Int"),
        "whence" => ("Whence", "Int"),
        "order" => ("Order", "Int"),
        "typeclass" => ("Typeclass", "Int"),
        "level" => ("ThreadLevel", "Int"),
        "comm" => ("Comm", "Handle"),
        "type" | "rtype" | "datatype" => ("Datatype", "Handle"),
        "op" => ("Op", "Handle"),
        "info" => ("Info", "Handle"),
        "group" | "grp" => ("Group", "Handle"),
        "win" | "window" => ("Window", "Handle"),
        "file" | "fh" => ("File", "Handle"),
        "errhandler" => ("Errhandler", "Handle"),
        "session" => ("Session", "Handle"),
        "given" | "request" => ("Request", "Handle"),
        "atype" => ("Datatype", "Pointed"),
        "freecomm" => ("FreedComm", "Pointed"),
        "freetype" => ("FreedDatatype", "Pointed"),
        "freeop" => ("FreedOp", "Pointed"),
        "freegroup" => ("FreedGroup", "Pointed"),
        "freeinfo" => ("FreedInfo", "Pointed"),
        "freeerrhandler" => ("FreedErrhandler", "Pointed"),
        "freewin" => ("FreedWindow", "Pointed"),
        "freefile" => ("FreedFile", "Pointed"),
        "freesession" => ("FreedSession", "Pointed"),
        "ownrequest" => ("Request", "Pointed"),
        "ownmessage" => ("Message", "Pointed"),
        "ints" => ("Ints", "Ints"),
        "lints" => ("Ints", "Longs"),
        "bools" => ("Flags", "Ints"),
        "ranks" => ("Ranks", "Ints"),
        "counts" | "rcounts" | "blocks" => ("Counts", "Ints"),
        "lcounts" | "lblocks" => ("Counts", "Longs"),
        "displs" => ("Displacements", "Ints"),
        "ldispls" => ("Displacements", "Longs"),
        "olddispls" => ("Displacements", "OldLongs"),
        "distribs" => ("Distributions", "Ints"),
        "dargs" => ("DistributionArgs", "Ints"),
        "types" => ("Datatypes", "Handles"),
        "reqs" => ("Requests", "Handles"),
        "text" => ("Text", "Text"),
        _ => return afterwards(word),
    };
    Some((kind, form, false))
}

/// The meaning of a word for what the library writes.
fn afterwards(word: &str) -> Option<Meaning> {
    let (kind, form) = match word {
        "newcomm" | "parent" => ("NewComm", "Pointed"),
        "newtype" => ("NewDatatype", "Pointed"),
        "newop" => ("NewOp", "Pointed"),
        "newgroup" => ("NewGroup", "Pointed"),
        "newinfo" => ("NewInfo", "Pointed"),
        "newerrhandler" => ("NewErrhandler", "Pointed"),
        "newwin" => ("NewWindow", "Pointed"),
        "newfile" => ("NewFile", "Pointed"),
        "newsession" => ("NewSession", "Pointed"),
        "message" => ("NewMessage", "Pointed"),
        "req" => ("NewRequest", "Pointed"),
        "flag" => ("Flag", "PointedInt"),
        "index" => ("Index", "PointedInt"),
        "outcount" => ("Outcount", "PointedInt"),
        "indices" => ("Indices", "Ints"),
        _ => return None,
    };
    Some((kind, form, true))
}

/// What the standard usually calls the argument of a word.
fn usual_name(word: &str) -> &str {
    match word {
        "newcomm" | "comm" => word,
        "freecomm" => "comm",
        "freetype" | "atype" | "type" => "datatype",
        "op" | "newop" | "freeop" => "op",
        "group" | "grp" | "freegroup" => "group",
        "info" | "newinfo" | "freeinfo" => "info",
        "errhandler" | "newerrhandler" | "freeerrhandler" => "errhandler",
        "win" | "window" | "newwin" | "freewin" => "win",
        "file" | "fh" | "newfile" | "freefile" => "fh",
        "session" | "newsession" | "freesession" => "session",
        "req" | "request" | "given" | "ownrequest" => "request",
        "ownmessage" => "message",
        "reqs" => "array_of_requests",
        "statuses" => "array_of_statuses",
        "indices" => "array_of_indices",
        "types" => "array_of_types",
        "n" => "count",
        "counts" => "sendcounts",
        "rcount" => "recvcount",
        "rcounts" => "recvcounts",
        "rtype" => "recvtype",
        "rtag" => "recvtag",
        "rank" => "target_rank",
        "promise" => "assert",
        "lock" => "lock_type",
        "split" => "split_type",
        "level" => "required",
        "parts" => "partitions",
        "low" => "partition_low",
        "high" => "partition_high",
        _ => word,
    }
}

/// An argument in `functions.txt`: `[role/]word[(length)][:name]`.
pub struct Argument<'a> {
    /// What it is for profiles, `x` for nothing.
    pub role: &'a str,
    word: &'a str,
    length: Option<&'a str>,
    name: &'a str,
}

impl<'a> Argument<'a> {
    /// Reads an argument. The first word is the role, if it `is_role`.
    pub fn read(text: &'a str, is_role: impl Fn(&str) -> bool) -> Self {
        let (text, name) = match text.split_once(':') {
            Some((text, name)) => (text, Some(name)),
            None => (text, None),
        };
        let (role, text) = text.split_once('/').unwrap_or(("", text));
        let (word, length) = match text.split_once('(') {
            Some((word, length)) => (word, length.strip_suffix(')')),
            None => (text, None),
        };
        let role = if role.is_empty() { word } else { role };
        Self {
            role: if is_role(role) { role } else { "x" },
            word,
            length,
            name: name.unwrap_or(usual_name(word)),
        }
    }
}

/// A function in `functions.txt`.
pub struct Row<'a> {
    pub name: &'a str,
    pub class: &'a str,
    pub mode: &'a str,
    pub arguments: Vec<Argument<'a>>,
}

impl Row<'_> {
    /// The fields of the function, as Rust text.
    pub fn fields(&self) -> String {
        let all = self.arguments.iter().enumerate();
        all.map(|(at, a)| self.fields_of(at, a)).collect()
    }

    /// The word of an argument, which may depend on the function.
    fn word<'a>(&self, a: &Argument<'a>) -> &'a str {
        let large = self.name.ends_with("_c");
        match (a.word, self.class) {
            ("req", "wait" | "test" | "start" | "request-free" | "cancel") => "ownrequest",
            ("message", "recv") => "ownmessage",
            ("newcomm", "comm-free") => "freecomm",
            ("newwin", "win-free") => "freewin",
            ("newfile", "file-close") => "freefile",
            ("newsession", "session-finalize") => "freesession",
            ("type", "type-free") => "freetype",
            ("count" | "rcount", _) if large => "lcount",
            ("counts" | "rcounts", _) if large => "lcounts",
            (word, _) => word,
        }
    }

    fn fields_of(&self, at: usize, a: &Argument) -> String {
        let at_root = self.is_for_the_root(at);
        let field = |name: &str, (kind, form, after): Meaning| {
            let length = self.length(a.length);
            format!(
                "Field {{ name: \"{name}\", kind: Kind::{kind}, at: {at}, form: Form::{form}, \
                 length: {length}, after: {after}, at_root: {at_root} }}, "
            )
        };
        let completes = ["recv", "send-recv", "probe", "wait", "test"].contains(&self.class);
        let of_status = match a.word {
            "status" if completes => [
                ("status_source", ("StatusSource", "Status", true)),
                ("status_tag", ("StatusTag", "Status", true)),
                ("received", ("Received", "Status", true)),
            ],
            "statuses" if completes => [
                ("status_sources", ("StatusSources", "Status", true)),
                ("status_tags", ("StatusTags", "Status", true)),
                ("received", ("ReceivedSizes", "Status", true)),
            ],
            _ => {
                let meaning = meaning(self.word(a));
                return meaning.map_or_else(String::new, |m| field(a.name, m));
            }
        };
        of_status.map(|(name, m)| field(name, m)).concat()
    }

    /// Whether the argument is of no importance on ranks other than the root.
    fn is_for_the_root(&self, at: usize) -> bool {
        let named = |name: &str| self.arguments.iter().position(|a| a.name == name);
        let lower = self.name.to_lowercase();
        match (named("recvbuf"), named("root")) {
            (Some(recv), Some(root)) if lower.contains("gather") => (recv..root).contains(&at),
            (Some(recv), Some(_)) if lower.contains("scatter") => at < recv,
            (Some(recv), Some(_)) => at == recv,
            _ => false,
        }
    }

    /// How long a list is, as Rust text.
    fn length(&self, text: Option<&str>) -> String {
        let argument = |name: &str| {
            let at = self.arguments.iter().position(|a| a.name == name);
            at.unwrap_or_else(|| panic!("{} has no argument {name}", self.name))
        };
        let number = |name: &str| {
            let at = argument(name);
            let word = self.word(&self.arguments[at]);
            format!("at: {at}, wide: {}", ["lcount", "long"].contains(&word))
        };
        let Some(text) = text else {
            return String::from("Length::One");
        };
        let parts: Vec<&str> = text.split('.').collect();
        match parts.as_slice() {
            ["comm"] => String::from("Length::Members"),
            ["local"] => String::from("Length::OwnGroup"),
            ["in"] => String::from("Length::Sources"),
            ["out"] => String::from("Length::Destinations"),
            ["dims"] => String::from("Length::Dimensions"),
            [name] => format!("Length::Argument {{ {}, times: 1 }}", number(name)),
            ["3", name] => format!("Length::Argument {{ {}, times: 3 }}", number(name)),
            ["sum", list, n] => {
                format!(
                    "Length::Sum {{ list: {}, at: {} }}",
                    argument(list),
                    argument(n)
                )
            }
            ["last", list, n] => {
                format!(
                    "Length::Last {{ list: {}, at: {} }}",
                    argument(list),
                    argument(n)
                )
            }
            _ => panic!("{} has a list of unknown length {text}", self.name),
        }
    }
}
