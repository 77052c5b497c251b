//! Recorded runs.

use crate::error::OrRaise;
use crate::set::Set;
use crate::work::work;
use headwater_dataflow::{Recorded, set};
use headwater_graph::view::View;
use headwater_load::Meant;
use headwater_model::printable::printable;
use headwater_model::words::count;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Arc;

/// Directories of the runs that were joined, and the depth of loops they were joined with.
#[derive(Debug, PartialEq)]
pub struct Group {
    /// Directories, in order.
    pub dirs: Vec<PathBuf>,
    /// Loops nested deeper are merged.
    pub max_loop_depth: usize,
}

/// A run, and how to get it again.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The run.
    pub recorded: Recorded,
    /// With which others it was opened.
    pub group: Arc<Group>,
    /// Which of them it is.
    pub index: usize,
}

impl Origin {
    /// The run that a view is of, if it is this one or the same with files as work.
    pub fn of_view(&self, view: &View) -> Option<Self> {
        Some(Self {
            recorded: self.recorded.of_view(view)?,
            ..self.clone()
        })
    }

    /// Where it is.
    pub fn dir(&self) -> PathBuf {
        self.group.dirs.get(self.index).cloned().unwrap_or_default()
    }
}

/// Directories of runs, wherever this process goes.
pub fn lasting(dirs: &[PathBuf]) -> Vec<PathBuf> {
    let lasting = |dir: &PathBuf| std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
    dirs.iter().map(lasting).collect()
}

/// Opens the runs that directories mean together.
pub fn open(py: Python<'_>, dirs: Vec<PathBuf>, max_loop_depth: usize) -> PyResult<Vec<Origin>> {
    let (dirs, recorded) = work(py, move |_| {
        // Messages name directories as they were given.
        let opened = Meant::by(&dirs).open(&|| ()).map_err(|e| e.to_string())?;
        let touched = headwater_load::touched(&opened.runs);
        let structures = headwater_load::structures(&opened.runs, touched, max_loop_depth, &|| ());
        let recorded = Recorded::join(opened.runs, structures).map_err(|e| e.to_string())?;
        Ok::<_, String>((opened.dirs, recorded))
    })?
    .or_raise()?;
    let group = Arc::new(Group {
        dirs: lasting(&dirs),
        max_loop_depth,
    });
    let origin = |(index, recorded)| Origin {
        recorded,
        group: group.clone(),
        index,
    };
    Ok(recorded.into_iter().enumerate().map(origin).collect())
}

/// Runs that were recorded, opened together, so that those of one build share their places. A directory that holds runs means
/// for all of them, by their ranks.
#[pyfunction]
pub fn open_runs(py: Python<'_>, dirs: Vec<PathBuf>, max_loop_depth: usize) -> PyResult<Vec<Run>> {
    Ok(open(py, dirs, max_loop_depth)?
        .into_iter()
        .map(Run)
        .collect())
}

/// A recorded run: the Program Abstraction Graph of one execution.
///
/// `run.V` are the places of the program summed up over ranks (the top-down view), `run.parallel` the same places on
/// each rank and thread (the parallel view), `run.E` the edges of that. Both views are made when first asked for.
#[pyclass(frozen, module = "headwater")]
pub struct Run(pub Origin);

impl Run {
    fn set(
        &self,
        py: Python<'_>,
        make: impl Fn(&Recorded) -> set::Set + Send + 'static,
    ) -> PyResult<Set> {
        let recorded = self.0.recorded.clone();
        let made = work(py, move |_| make(&recorded))?;
        Ok(Set::new(made, Some(self.0.clone())))
    }
}

#[pymethods]
impl Run {
    /// Its name, as in reports.
    #[getter]
    fn name(&self) -> &str {
        &self.0.recorded.run().header.name
    }

    /// The directory that it was opened from.
    #[getter]
    fn path(&self) -> PathBuf {
        self.0.dir()
    }

    /// The measured program.
    #[getter]
    fn program(&self) -> &str {
        &self.0.recorded.run().header.program
    }

    /// Ranks.
    #[getter]
    fn ranks(&self) -> u32 {
        self.0.recorded.run().header.ranks
    }

    /// From MPI_Init to MPI_Finalize on the slowest rank, seconds.
    #[getter]
    fn wall_seconds(&self) -> f64 {
        self.0.recorded.run().header.wall_seconds
    }

    /// Ranks that did not reach MPI_Finalize.
    #[getter]
    fn incomplete(&self) -> Vec<u32> {
        self.0.recorded.run().header.incomplete.clone()
    }

    /// All vertices of the top-down view: places of the program, figures of all ranks together.
    #[getter(V)]
    fn all(&self, py: Python<'_>) -> PyResult<Set> {
        self.set(py, |r| set::Set::vertices_of(r.top_down()))
    }

    /// The same as `V`.
    #[getter]
    fn vs(&self, py: Python<'_>) -> PyResult<Set> {
        self.all(py)
    }

    /// All edges of the parallel view: program order, messages, collectives, locks.
    #[getter(E)]
    fn edges(&self, py: Python<'_>) -> PyResult<Set> {
        self.set(py, |r| set::Set::edges_of(r.parallel()))
    }

    /// The same as `E`.
    #[getter]
    fn es(&self, py: Python<'_>) -> PyResult<Set> {
        self.edges(py)
    }

    /// All vertices of the parallel view: places on single ranks and threads.
    #[getter]
    fn parallel(&self, py: Python<'_>) -> PyResult<Set> {
        self.set(py, |r| set::Set::vertices_of(r.parallel()))
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        let same = |r: PyRef<'_, Run>| r.0.recorded.digest() == self.0.recorded.digest();
        other.extract::<PyRef<'_, Run>>().is_ok_and(same)
    }

    fn __hash__(&self) -> u64 {
        self.0.recorded.digest()
    }

    fn __repr__(&self) -> String {
        let header = &self.0.recorded.run().header;
        let (name, ranks) = (printable(&header.name), count(header.ranks as usize));
        format!("<Run {name}: {ranks}, {:.3} s>", header.wall_seconds)
    }
}
