//! The first lines of a Paraver trace: how long it is, on which nodes its tasks ran, the members of each communicator.
//!
//! `#Paraver (DATE):TIME_ns:NODES(CPUS,…):APPLICATIONS:TASKS(THREADS:NODE,…),COMMUNICATORS`, then lines
//! `c:APPLICATION:COMMUNICATOR:SIZE:TASK:…`. What counts begins with 1.

/// What the first line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Nanoseconds in the trace's unit of time.
    pub unit_ns: u64,
    /// Applications.
    pub applications: u64,
    /// For each task of the first one: its threads, and its node from 1 on, 0 where unknown.
    pub tasks: Vec<(u64, u64)>,
}

/// Tasks that a trace may have; more is a damaged line, not something to make room for.
const MOST_TASKS: usize = 1 << 18;

impl Header {
    /// Reads the first line; `None` where it is not one of a Paraver trace.
    pub fn parse(line: &str) -> Option<Self> {
        let (_date, rest) = line.strip_prefix("#Paraver (")?.split_once("):")?;
        let (time, rest) = rest.split_once(':')?;
        // Without a unit, and before there were any, microseconds.
        let unit_ns = match time.rsplit_once('_') {
            Some((_, "ns")) => 1,
            _ => 1000,
        };
        let (_resources, rest) = rest
            .split_once(':')
            .filter(|(r, _)| !r.contains('('))
            .or_else(|| rest.split_once("):"))?;
        let (applications, rest) = rest.split_once(':')?;
        let (count, rest) = rest.split_once('(')?;
        let (list, _) = rest.split_once(')')?;
        let task = |t: &str| {
            let (threads, node) = t.split_once(':').unwrap_or((t, "0"));
            Some((threads.parse().ok()?, node.parse().ok()?))
        };
        let tasks: Vec<(u64, u64)> = list.split(',').map(task).collect::<Option<_>>()?;
        let fits = count.parse() == Ok(tasks.len()) && tasks.len() <= MOST_TASKS;
        fits.then_some(())?;
        Some(Self {
            unit_ns,
            applications: applications.parse().ok()?,
            tasks,
        })
    }
}

/// A communicator's number and its tasks, from 0 on, of the line behind `c:`.
pub fn communicator(line: &str) -> Option<(u64, Vec<u32>)> {
    let mut fields = line.split(':').map(|f| f.trim().parse::<u64>().ok());
    let (_application, id, size) = (fields.next()??, fields.next()??, fields.next()??);
    let task = |f: Option<u64>| u32::try_from(f?.checked_sub(1)?).ok();
    let tasks: Vec<u32> = fields.map(task).collect::<Option<_>>()?;
    (tasks.len() as u64 == size).then_some((id, tasks))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_tells_tasks_and_their_nodes() {
        let line = "#Paraver (06/01/2011 at 11:22):2001_ns:2(1,1):1:3(1:1,4:2,1:2),0";
        let header = Header::parse(line).unwrap();
        assert_eq!((header.unit_ns, header.applications), (1, 1));
        assert_eq!(header.tasks, [(1, 1), (4, 2), (1, 2)]);
        let old = Header::parse("#Paraver (06/01/11 at 11:22):2001:0:1:1(1:1)").unwrap();
        assert_eq!((old.unit_ns, old.tasks), (1000, vec![(1, 1)]));
        for bad in [
            "",
            "#Paraver (x)",
            "#Paraver (06/01):5_ns:1(1):1:2(1:1),0",
            "#Paraver (d):5:1:1",
        ] {
            assert_eq!(Header::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_communicator_lists_its_tasks() {
        assert_eq!(communicator("1:2:3:1:4:2"), Some((2, vec![0, 3, 1])));
        assert_eq!(communicator("1:2:3:1:4"), None);
        assert_eq!(communicator("1:2:1:0"), None);
    }
}
