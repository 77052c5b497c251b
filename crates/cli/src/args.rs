//! The command line, defined once: parsing, help, man page and completions come from here.

mod numbers;
mod shown;
mod traces;

pub use shown::{Kind, Printed, ViewArgs};
pub use traces::{CalibrateArgs, Computing, ReplayArgs, ShowArgs, SimulateArgs};

use crate::network::Wanted as WantedNetwork;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args as ClapArgs, CommandFactory, Parser, Subcommand, ValueEnum};
use headwater_model::RankSet;
use headwater_trace::likeness::Range;
use numbers::{count, ranks, ratio, sampling_hz, share, threads};
use std::path::PathBuf;

/// Finds where a parallel program's scaling loss comes from, and follows it to the line that causes it.
#[derive(Debug, Parser)]
#[command(
    name = "headwater",
    version,
    about,
    after_help = "Start with:  headwater run -n 2,4,8,16 -- ./app\nExit codes: 0 success, 1 a --fail-on threshold is exceeded, 2 wrong usage or input. record and run return the exit code of your program if it fails."
)]
pub struct Args {
    /// Print no progress messages; warnings and errors are still printed.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Record at several scales, then diagnose.
    #[command(
        after_help = "Example:  headwater run -n 2,4,8,16 -- ./app input\n          headwater run --repeat 3 -n 2,8 -- ./app input\n          headwater run -n 16,32 -- mpirun -n {np} --map-by core ./app input"
    )]
    Run(RunArgs),
    /// Record one run under any launcher.
    #[command(
        after_help = "Put it before the launcher; it then also finishes the run. If you put it behind the launcher, on every rank, it works as exec does, and diagnose finishes the run.\nExample:  headwater record -o p16 -- mpirun -n 16 ./app input\n          mpirun -n 16 headwater record -o p16 ./app input"
    )]
    Record(RecordArgs),
    /// Record one run with every MPI call, as record --trace does.
    #[command(
        after_help = "The result is a recorded run with a trace: every MPI call of every rank, in order, with its call path, parameters and times.\nExample:  headwater trace -o t16 -- mpirun -n 16 ./app input\n          headwater show t16"
    )]
    Trace(RecordArgs),
    /// Run a program with the collector loaded; for use behind a launcher.
    #[command(
        after_help = "Put it before the program on every rank of the job, or on none. Otherwise ranks wait for each other in MPI_Init. Without --spool, the run is recorded in ./headwater-PROGRAM-JOB. Pass that directory to diagnose.\nExample:  mpirun -n 8 headwater exec -- ./app input"
    )]
    Exec(ExecArgs),
    /// End the recording of a program that goes on.
    #[command(
        after_help = "The program is not disturbed. Of a directory that holds runs, those that are being recorded are meant, also runs without a name.\nExample:  headwater stop service\n          headwater diagnose service"
    )]
    Stop {
        /// Directories of runs that are being recorded.
        #[arg(required = true)]
        runs: Vec<PathBuf>,
    },
    /// Find the root causes in recorded runs of one program.
    #[command(after_help = "Example:  headwater diagnose app.2 app.4 app.8 app.16")]
    Diagnose(DiagnoseArgs),
    /// Look at recorded runs and their diagnosis in a browser.
    #[command(
        after_help = "The page is served on 127.0.0.1 alone, and its address has a secret token. Ctrl-C ends it. On a machine without a display, forward the port (ssh -L PORT:127.0.0.1:PORT) and open the address that is printed.\nExample:  headwater view app.2 app.4 app.8 app.16\n          headwater view --port 8123 --no-open app.16"
    )]
    View(ViewArgs),
    /// Answer another question about recorded runs (by a dataflow of passes).
    #[command(
        after_help = "Example:  headwater analyse mpi-profile app.16\n          headwater analyse communication app.16 --json\n          headwater analyse communication --flow=svg > flow.svg"
    )]
    Analyse(AnalyseArgs),
    /// Write recorded runs as a file for another tool.
    #[command(
        after_help = "Example:  headwater export speedscope app.16 -o app.speedscope.json\n          headwater export folded app.16 -o - | inferno-flamegraph > app.svg\n          headwater export csv app.16 --analysis mpi-profile --table call_sites -o sites.csv\n          headwater export otf2 t16 --simulated -o t16.otf2"
    )]
    Export(ExportArgs),
    /// Run a trace in virtual time: on another network, or with places that are different.
    #[command(
        after_help = "TRACE is a run that was recorded with headwater trace. Each rank has a core of its own. Computation takes its CPU time, and calls take what the network says: on the ideal one, only waiting takes time.\nPLACE is file.c:7-8, file.c:7, or a function with all that it calls. Of a run with samples, it is computation there; otherwise it is computation before the MPI calls there.\n  balanced   each rank computes there as long as the mean\n  faster F   computation there takes 1/F of its time\n  gone       computation there takes no time\n  half       messages sent there are half as long\n  no-wait    nobody waits in the collectives there\nExample:  headwater simulate t16 --network fit\n          headwater simulate t16 --what-if 'zeus.c:6-8 balanced' --what-if 'solve faster 2'"
    )]
    Simulate(SimulateArgs),
    /// Convert another tool's trace to a run: an OTF2 archive (Score-P), a Paraver trace (Extrae), or ScalAna's files.
    #[command(
        after_help = "docs/IMPORT.md lists what is read from a trace and what is lost.\nExample:  headwater import scorep_app_16/traces.otf2 -o app.16\n          headwater diagnose app.4 app.16\n          headwater import cg/16 cg/64 cg/256 -o cg-runs      # files of ScalAna\n          headwater diagnose cg-runs"
    )]
    Import(ImportArgs),
    /// Issue the communication of a recorded trace again, on any MPI library; for use behind a launcher.
    #[command(
        after_help = "Start as many ranks as the trace has. The MPI library is the one that belongs to the launcher. Buffers have the sizes of the recording, data are zeros, and files are scratch files.\nExample:  mpirun -n 16 headwater replay t16\n          mpirun -n 16 headwater replay --compute none t16"
    )]
    Replay(ReplayArgs),
    /// Measure the network for simulate; for use behind a launcher.
    #[command(
        after_help = "Measures a ping-pong between the first and the last rank, and fits the parameters of a LogGP network. It takes some seconds. For the network between nodes, start the ranks on two of them. The MPI library is the one that belongs to the launcher.\nExample:  mpirun -n 2 headwater calibrate -o net.json\n          headwater simulate t16 --network net.json"
    )]
    Calibrate(CalibrateArgs),
    /// Show the structure of a program: functions, loops, branches, calls.
    #[command(after_help = "Example:  headwater structure ./app --function solve")]
    Structure(StructureArgs),
    /// Compile C with mpicc, clang and the plugin that says why ranks differ.
    #[command(
        disable_help_flag = true,
        after_help = "All arguments are the compiler's. Compile with -g, so that lines are known. headwater cc -show prints the command. docs/COMPILER.md says what the plugin adds to a diagnosis.\nExample:  headwater cc -O2 -g -c solve.c\n          headwater cc solve.o -o app\n          make CC='headwater cc'"
    )]
    Cc(CompileArgs),
    /// Compile C++ with mpicxx, clang++ and the plugin that says why ranks differ.
    #[command(
        disable_help_flag = true,
        after_help = "All arguments are the compiler's. Example:  headwater cxx -O2 -g solve.cpp -o app"
    )]
    Cxx(CompileArgs),
    /// Compile Fortran with mpif90, flang and the plugin that says why ranks differ.
    #[command(
        disable_help_flag = true,
        after_help = "All arguments are the compiler's. Example:  headwater fc -O2 -g solve.f90 -o app"
    )]
    Fc(CompileArgs),
    /// Show a trace as text: loops, events, ranks, parameters, times.
    #[command(
        after_help = "Example:  headwater show t16\n          headwater show t16 --rank 3 --events | less"
    )]
    Show(ShowArgs),
    /// Print linker flags for a program with a static MPI library.
    #[command(
        after_help = "Only needed if MPI is linked statically. Put the flags before the MPI library. The program then records only if it is started by headwater record, run or exec.\nExample:  mpicc -g -static app.c $(headwater link-flags) -o app\n          headwater record -- mpirun -n 4 ./app"
    )]
    LinkFlags(LinkFlagsArgs),
    /// Print the file by which a program names its regions.
    #[command(
        after_help = "docs/REGIONS.md shows how to use it. There is no library to link.\nExample:  headwater header > headwater.h\n          headwater header fortran > headwater_regions.f90\n          headwater header python > headwater_regions.py"
    )]
    Header {
        /// The language of the program.
        #[arg(value_enum, default_value = "c")]
        language: Language,
    },
    /// Check what this machine has, and what it lacks, for recording.
    #[command(after_help = "Example:  headwater doctor ./app")]
    Doctor(DoctorArgs),
    /// Print a script that completes headwater's options in a shell.
    #[command(
        after_help = "Example:  headwater completions bash > /etc/bash_completion.d/headwater"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print a man page, or write all of them.
    #[command(
        after_help = "Example:  headwater man record | man -l -\n          headwater man --dir ~/.local/share/man/man1"
    )]
    Man(ManArgs),
    /// Print the JSON schema of a command's --json output.
    #[command(after_help = "Example:  headwater schema diagnose")]
    Schema {
        /// The command.
        command: Described,
    },
}

/// Where JSON goes.
#[derive(Clone, Debug, Default, ClapArgs)]
pub struct Json {
    /// Print JSON, or write it to FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// Languages in which regions can be named.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Language {
    /// C and C++.
    C,
    /// Fortran.
    Fortran,
    /// Python.
    Python,
}

/// Arguments of `link-flags`.
#[derive(Debug, ClapArgs)]
pub struct LinkFlagsArgs {
    /// JSON.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `doctor`.
#[derive(Debug, ClapArgs)]
pub struct DoctorArgs {
    /// Also check whether this program can be recorded.
    pub program: Option<PathBuf>,
    /// JSON.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `man`.
#[derive(Debug, ClapArgs)]
pub struct ManArgs {
    /// The command whose page is printed.
    #[arg(conflicts_with = "dir")]
    pub command: Option<String>,
    /// Write the pages of all commands into this directory.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
}

/// Commands whose JSON has a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Described {
    /// `diagnose` and `run`.
    #[value(alias = "run")]
    Diagnose,
    /// `analyse`.
    Analyse,
    /// `record`.
    Record,
    /// `show`.
    Show,
    /// `simulate`.
    Simulate,
    /// `replay`.
    Replay,
    /// `structure`.
    Structure,
    /// `doctor`.
    Doctor,
    /// `link-flags`.
    LinkFlags,
    /// The data in a page of `diagnose --html` and `view`.
    Page,
}

/// The most memory that the trace may be allowed to take in each process, MiB.
pub const MOST_TRACE_MEMORY: u32 = 1 << 16;

/// Options of recording.
#[derive(Clone, Debug, ClapArgs)]
pub struct Recording {
    /// Samples per second of CPU time [default: 200]. After its first 256 samples, a thread is sampled less often.
    #[arg(long, value_name = "HZ", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub hz: Option<u32>,
    /// Record every MPI call as well, in order and with its parameters. The trace is a file of some kilobytes in the run.
    #[arg(long)]
    pub trace: bool,
    /// In the trace, calls of one function count as the same place if their call paths differ in fewer than N frames.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub signature_slack: Option<u32>,
    /// In the trace, all places in a range of addresses count as the same: MODULE:0xFROM-0xTO as a disassembler shows them, or MODULE alone.
    #[arg(long, value_name = "RANGE", value_delimiter = ',')]
    pub signature_any: Vec<Range>,
    /// In the trace, partners, tags and counts of messages become histograms where their values take more than N terms (runs,
    /// strides or loops). Such a trace is smaller, and can be replayed only with random choice.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub lossy: Option<u32>,
    /// Memory for the trace in each process, in MiB [default: 7]. When it is used up, later calls are only counted.
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_TRACE_MEMORY)))]
    pub trace_memory: Option<u32>,
    /// Print the command that would be run, and do not run it.
    #[arg(long)]
    pub dry_run: bool,
}

impl Recording {
    /// # Errors
    /// An option that shapes a trace is given, but no trace is asked for.
    pub fn check(&self) -> Result<(), String> {
        let of_traces = [
            ("--signature-slack", self.signature_slack.is_some()),
            ("--signature-any", !self.signature_any.is_empty()),
            ("--lossy", self.lossy.is_some()),
            ("--trace-memory", self.trace_memory.is_some()),
        ];
        match of_traces.iter().find(|(_, given)| *given && !self.trace) {
            Some((name, _)) => Err(format!(
                "{name} is for a trace: add --trace, or leave it out"
            )),
            None => Ok(()),
        }
    }
}

/// Arguments of `run`.
#[derive(Debug, ClapArgs)]
pub struct RunArgs {
    /// The numbers of ranks to record at, separated by commas. Leave it out for a program without MPI.
    #[arg(short = 'n', long = "ranks", value_delimiter = ',', required_unless_present = "threads", value_parser = ranks)]
    pub ranks: Vec<u32>,
    /// The numbers of threads of each rank to record at, separated by commas: OMP_NUM_THREADS, and {threads} in the arguments of the program. With -n, all pairs are recorded.
    #[arg(long, value_name = "T", value_delimiter = ',', value_parser = threads)]
    pub threads: Vec<u32>,
    /// How often each scale is recorded. Several recordings show smaller causes.
    #[arg(long, value_name = "K", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// The directory for the runs; by default the current one.
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Recording.
    #[command(flatten)]
    pub recording: Recording,
    /// Diagnosis.
    #[command(flatten)]
    pub analysis: Analysis,
    /// The program, or a launcher command with {np} in place of the number of ranks.
    #[arg(required = true, trailing_var_arg = true)]
    pub program: Vec<String>,
}

/// Arguments of `record`.
#[derive(Debug, ClapArgs)]
pub struct RecordArgs {
    /// Directory of the run; by default named after program, ranks and job.
    #[arg(short, long, value_name = "NAME")]
    pub output: Option<PathBuf>,
    /// Recording.
    #[command(flatten)]
    pub recording: Recording,
    /// JSON about what was recorded, when the program has ended.
    #[command(flatten)]
    pub json: Json,
    /// The launcher and the program, with their options.
    #[arg(required = true, trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Arguments of `exec`.
#[derive(Debug, ClapArgs)]
pub struct ExecArgs {
    /// The directory to record into; by default named after program and job. Pass it to `diagnose`.
    #[arg(long, value_name = "DIR")]
    pub spool: Option<PathBuf>,
    /// The collector library; by default the one that HEADWATER_COLLECTOR names, or the one installed with headwater.
    #[arg(long, value_name = "FILE")]
    pub collector: Option<PathBuf>,
    /// Recording.
    #[command(flatten)]
    pub recording: Recording,
    /// The program.
    #[arg(required = true, trailing_var_arg = true)]
    pub program: Vec<String>,
}

/// Options of the diagnosis.
#[derive(Clone, Debug, ClapArgs)]
pub struct Analysis {
    /// JSON.
    #[command(flatten)]
    pub json: Json,
    /// Also write the diagnosis as a page for browsers: one file that works offline.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// In the page, also compare with a run of another build of the program. Can be repeated.
    #[arg(long, value_name = "RUN", requires = "html")]
    pub against: Vec<PathBuf>,
    /// Print the causes in SARIF, for tools that annotate code, or write them to FILE.
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "-", conflicts_with = "json")]
    pub sarif: Option<PathBuf>,
    /// How causes are printed: as a report, or a line for each as compilers print warnings (file:line: warning: message).
    #[arg(long, value_name = "FORMAT", default_value = "report", conflicts_with_all = ["json", "sarif"])]
    pub format: Printed,
    /// How the problem grows; by default guessed from the program's arguments and the measured work.
    #[arg(long, value_name = "KIND")]
    pub scaling: Option<Kind>,
    /// List a place as uneven if its slow ranks take this many times as long as the others. Does not affect the causes.
    #[arg(long, value_name = "RATIO", default_value_t = 1.3, value_parser = ratio)]
    pub abnorm_threshold: f64,
    /// Look only for causes inside this region of the program's own.
    #[arg(long, value_name = "NAME")]
    pub region: Option<String>,
    /// Merge loops that are nested deeper than this into the loop around them.
    #[arg(long, value_name = "DEPTH", default_value_t = 10)]
    pub max_loop_depth: usize,
    /// The number of causes described in full; others get one line each.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = count)]
    pub top: usize,
    /// Show source lines only of files in this directory and below. By default: near the program, below the current
    /// directory or in /usr. Can be repeated.
    #[arg(long, value_name = "DIR")]
    pub source: Vec<PathBuf>,
    /// Show no source lines.
    #[arg(long, conflicts_with = "source")]
    pub no_source: bool,
    /// Exit with 1 if a cause's gain is at least this share of the run time (0 to 1).
    #[arg(long, value_name = "SHARE", value_parser = share)]
    pub fail_on: Option<f64>,
    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Arguments of `diagnose`.
#[derive(Debug, ClapArgs)]
pub struct DiagnoseArgs {
    /// Directories of recorded runs. Several runs of one scale are combined.
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// Diagnosis.
    #[command(flatten)]
    pub analysis: Analysis,
}

/// How a dataflow is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FlowFormat {
    /// A line for each pass.
    Text,
    /// A drawing.
    Svg,
    /// The form in which a dataflow is saved.
    Json,
}

/// Arguments of `analyse`.
#[derive(Debug, ClapArgs)]
pub struct AnalyseArgs {
    /// The question.
    #[arg(value_parser = paradigms())]
    pub paradigm: String,
    /// Directories of recorded runs; if there are several, the smallest or earliest first.
    #[arg(required_unless_present = "flow")]
    pub runs: Vec<PathBuf>,
    /// JSON.
    #[command(flatten)]
    pub json: Json,
    /// Rows to show of each table.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = count)]
    pub rows: usize,
    /// How the problem grows; by default guessed from the program's arguments.
    #[arg(long, value_name = "KIND")]
    pub scaling: Option<Kind>,
    /// List a place as uneven if its slow ranks take this many times as long as the others. Does not affect the causes [default: 1.3].
    #[arg(long, value_name = "RATIO", value_parser = ratio)]
    pub abnorm_threshold: Option<f64>,
    /// Show the dataflow instead of running it.
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "text")]
    pub flow: Option<FlowFormat>,
    /// Merge loops that are nested deeper than this into the loop around them.
    #[arg(long, value_name = "DEPTH", default_value_t = 10)]
    pub max_loop_depth: usize,
    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub color: Color,
}

/// The paradigms with what they answer.
fn paradigms() -> PossibleValuesParser {
    let known = headwater_diagnosis::paradigm::ALL.iter();
    PossibleValuesParser::new(known.map(|p| PossibleValue::new(p.name).help(p.about)))
}

/// A view of a run that is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportedView {
    /// Places in the program, summed over ranks.
    TopDown,
    /// Places in the program, separate for each rank and thread.
    Parallel,
}

/// Arguments of `export`.
#[derive(Debug, ClapArgs)]
pub struct ExportArgs {
    /// The format.
    #[arg(value_parser = formats())]
    pub format: String,
    /// Directories of recorded runs.
    #[arg(required = true)]
    pub runs: Vec<PathBuf>,
    /// The file to write, which must not exist yet. If the format is text, - is standard output. For simgrid,
    /// otf2 and scalana: the directory to make.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Export only these ranks, for example 0-3,7.
    #[arg(long, value_name = "RANKS")]
    pub ranks: Option<RankSet>,
    /// For a graph or table: which view of the run [default: top-down].
    #[arg(long, value_name = "VIEW")]
    pub view: Option<ExportedView>,
    /// For a graph: at most this many vertices, those with the most time.
    #[arg(long, value_name = "N", value_parser = count)]
    pub vertices: Option<usize>,
    /// For csv and parquet: which table. A view has vertices, edges, by-rank and ranks [default: vertices].
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// For csv and parquet: a table of this analysis instead of a view.
    #[arg(long, value_name = "ANALYSIS", value_parser = paradigms())]
    pub analysis: Option<String>,
    /// For simgrid, and otf2 with --simulated: the network, as of simulate [default: ideal].
    #[arg(long, value_name = "NETWORK", value_parser = WantedNetwork::of)]
    pub network: Option<WantedNetwork>,
    /// For otf2: the times of a simulation instead of the recorded ones.
    #[arg(long)]
    pub simulated: bool,
    /// Merge loops that are nested deeper than this into the loop around them.
    #[arg(long, value_name = "DEPTH", default_value_t = 10)]
    pub max_loop_depth: usize,
}

/// The formats with what they hold and what opens them.
fn formats() -> PossibleValuesParser {
    let known = headwater_export::ALL.iter();
    let help = |f: &headwater_export::Format| format!("{}; for {}", f.about, f.opens);
    let of_runs = known.map(|f| PossibleValue::new(f.name).help(help(f)));
    let traces = headwater_export::whole::TRACES.iter();
    let of_traces = traces.map(|f| {
        let help = format!("{}; for {}", f.about, f.opens);
        PossibleValue::new(f.name).help(help)
    });
    let scalana = {
        use headwater_export::scalana::{ABOUT, NAME, OPENS};
        PossibleValue::new(NAME).help(format!("{ABOUT}; for {OPENS}"))
    };
    PossibleValuesParser::new(of_runs.chain(of_traces).chain([scalana]))
}

/// Arguments of `import`.
#[derive(Debug, ClapArgs)]
pub struct ImportArgs {
    /// The trace's file that ends in .otf2 or .prv, or its directory. Of ScalAna: directories with its files, one for each
    /// scale, or the directory that they are in.
    #[arg(required = true, value_name = "TRACE")]
    pub traces: Vec<PathBuf>,
    /// Directory of the new run. Of several scales, the directory of the new runs.
    #[arg(short, long, value_name = "NAME")]
    pub output: PathBuf,
    /// Samples per second of ScalAna's files, which do not say it [default: 200, as in ScalAna's paper].
    #[arg(long, value_name = "HZ", value_parser = sampling_hz)]
    pub sampling_hz: Option<u32>,
    /// Name of the program, in place of the name in the trace. Only runs of the same program can be compared.
    #[arg(long, value_name = "NAME")]
    pub program: Option<String>,
}

/// Arguments of `structure`.
#[derive(Debug, ClapArgs)]
pub struct StructureArgs {
    /// Executable, shared library, or source of Python (.py).
    pub module: PathBuf,
    /// Show only functions whose name contains this, and functions into which such a function is inlined.
    #[arg(long, value_name = "NAME")]
    pub function: Option<String>,
    /// Compare the structure that headwater cc wrote with that of the machine code.
    #[arg(long, conflicts_with = "function")]
    pub compare: bool,
    /// Merge loops that are nested deeper than this into the loop around them.
    #[arg(long, value_name = "DEPTH", default_value_t = 10)]
    pub max_loop_depth: usize,
    /// JSON.
    #[command(flatten)]
    pub json: Json,
}

/// Arguments of `cc`, `cxx` and `fc`.
#[derive(Debug, ClapArgs)]
pub struct CompileArgs {
    /// Arguments of the compiler.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    pub arguments: Vec<std::ffi::OsString>,
}

/// The definition, for man page and completions.
pub fn definition() -> clap::Command {
    Args::command()
}
