//! The table of launchers: their names, which MPI library they belong to, and the options that must be known to find
//! the program behind them.
//!
//! Names of options are without dashes: Open MPI and Hydra take one dash or two, and no short option of a scheduler
//! has the name of a long one. `--opt=value` needs no entry. Options without a value, or with a value that only `=`
//! can pass, need none either.

use crate::MpiKind;

/// What is known of a launcher.
#[derive(Debug)]
pub struct Launcher {
    /// Base names that it goes by.
    pub names: &'static [&'static str],
    /// The library that it belongs to; `None` for a scheduler's launcher.
    pub kind: Option<MpiKind>,
    /// Option for the number of ranks.
    pub ranks: &'static str,
    /// Words of which one may be between its name and its options.
    pub(crate) verbs: &'static [&'static str],
    /// Options that take one word.
    pub(crate) one: &'static str,
    /// Options that take two words.
    pub(crate) two: &'static str,
    /// Options that name a file with the programs in it: then no program is on the command line.
    pub(crate) listed: &'static str,
    /// Options after which the program may be one that cannot be found on this machine.
    pub(crate) away: &'static str,
    /// Whether the word `:` begins another program with options of its own. These launchers then treat every `:` like
    /// that, even among a program's arguments.
    pub(crate) parts: bool,
    /// Options to add if ranks outnumber cores.
    pub(crate) crowded: &'static [&'static str],
}

/// Whether `name` is among the words of `list`.
pub(crate) fn lists(list: &str, name: &str) -> bool {
    list.split_whitespace().any(|w| w == name)
}

/// Variables that launchers set for each rank, with its number.
pub(crate) const RANK: [&str; 4] = [
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMI_RANK",
    "FLUX_TASK_RANK",
];

/// What Intel MPI and MPICH have in common: both start ranks with Hydra.
const HYDRA: Launcher = Launcher {
    names: &[],
    kind: None,
    ranks: "-n",
    verbs: &[],
    one: "n np ppn perhost grr f hosts host hostfile machinefile hosts-group wdir path \
        genvlist genvexcl envlist envexcl bind-to map-by membind cpu-bind topolib order-nodes \
        launcher launcher-exec bootstrap bootstrap-exec bootstrap-exec-args branch-count rmk demux iface \
        nameserver localhost usize gpus-per-proc configfile outfile-pattern errfile-pattern \
        prepend-pattern gdb-args gtool gtoolfile s tune tmpdir umask",
    two: "env genv",
    listed: "configfile",
    away: "f hosts host hostfile machinefile hosts-group wdir path",
    parts: true,
    crowded: &[],
};

/// All known launchers. If several have the same name, the first one whose library fits is taken.
pub(crate) const LAUNCHERS: [Launcher; 5] = [
    Launcher {
        names: &[
            "mpirun.openmpi",
            "mpiexec.openmpi",
            "orterun",
            "mpirun",
            "mpiexec",
            // Last: it starts programs, but sets none of the variables that Open MPI reads.
            "prterun",
        ],
        kind: Some(MpiKind::OpenMpi),
        ranks: "-n",
        verbs: &[],
        // The options of version 4 and, from `add-host` on, those that only version 5 has.
        one: "n np c N npernode npersocket ppr x H host hostfile default-hostfile machinefile am tune \
            app wdir wd path prefix map-by bind-to rank-by rf rankfile cpu-set cpu-list cpus-per-proc \
            cpus-per-rank cf cartofile output-filename stdin timeout debugger personality hnp \
            ompi-server launch-agent max-restarts max-vm-size preload-files report-events report-pid \
            report-uri xml-file xterm \
            add-host add-hostfile display output runtime-options pset exec-agent default-exec-agent \
            num-connect-retries memory-alloc-kinds",
        two: "mca gmca prtemca pmixmca gpmixmca",
        listed: "app",
        away: "H host hostfile default-hostfile machinefile wdir wd path set-cwd-to-session-dir",
        parts: true,
        crowded: &["--oversubscribe", "--mca", "mpi_yield_when_idle", "1"],
    },
    Launcher {
        names: &["mpiexec.hydra", "mpirun", "mpiexec"],
        kind: Some(MpiKind::Intel),
        ..HYDRA
    },
    Launcher {
        names: &[
            "mpirun.mpich",
            "mpiexec.mpich",
            "mpiexec.hydra",
            "mpirun",
            "mpiexec",
        ],
        kind: Some(MpiKind::Mpich),
        ..HYDRA
    },
    Launcher {
        names: &["srun"],
        kind: None,
        ranks: "-n",
        verbs: &[],
        one: "A account b begin c cpus-per-task C constraint d dependency D chdir e error F nodefile \
            G gpus i input J job-name L licenses m distribution M clusters n ntasks N nodes o output \
            p partition q qos r relative S core-spec t time T threads w nodelist W wait x exclude \
            B extra-node-info \
            accel-bind acctg-freq bb bbf bcast-exclude cluster-constraint comment container \
            container-id cores-per-socket cpu-bind cpu-freq cpus-per-gpu deadline delay-boot epilog \
            export export-file extra gid gpu-bind gpu-freq gpus-per-node gpus-per-socket \
            gpus-per-task gres gres-flags het-group hint jobid mail-type mail-user mcs-label mem \
            mem-bind mem-per-cpu mem-per-gpu mincpus mpi msg-timeout network ntasks-per-core \
            ntasks-per-gpu ntasks-per-node ntasks-per-socket open-mode power prefer priority profile \
            prolog reservation segment signal slurmd-debug sockets-per-node switches task-epilog \
            task-prolog thread-spec threads-per-core time-min tmp tres-bind tres-per-task uid wckey",
        two: "",
        listed: "multi-prog",
        away: "",
        parts: true,
        crowded: &["--overcommit"],
    },
    Launcher {
        names: &["flux"],
        kind: None,
        ranks: "-n",
        verbs: &["run", "submit", "alloc"],
        one: "n ntasks N nodes c cores-per-task g gpus-per-task t time-limit q queue o setopt B bank \
            add-file begin-time bcc cc cores cwd dependency env env-file env-remove error flags \
            gpus-per-node input job-name log log-stderr output requires rlimit setattr signal taskmap \
            tasks-per-core tasks-per-node urgency wait-event",
        two: "",
        listed: "",
        away: "",
        parts: false,
        crowded: &[],
    },
];
