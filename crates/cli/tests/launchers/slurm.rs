//! A Slurm of our own: controller, node and authentication on this machine, in a directory that goes
//! with it. It touches nothing of a Slurm that is installed for work.

use crate::output;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A Slurm that runs until this is dropped.
#[derive(Debug)]
pub struct Slurm {
    dir: PathBuf,
    daemons: Vec<Child>,
}

/// How long it may take to start.
const PATIENCE: Duration = Duration::from_secs(40);

impl Slurm {
    /// Starts it, with its files in `dir`.
    ///
    /// # Errors
    /// It is not installed, we are not root, or it does not come up: what to do about it.
    pub fn start(dir: &Path) -> Result<Self, String> {
        if !output(Command::new("id").arg("-u")).is_ok_and(|u| u.trim() == "0") {
            return Err("its daemons want to be root".into());
        }
        let _ = std::fs::remove_dir_all(dir);
        for part in ["state", "spool"] {
            std::fs::create_dir_all(dir.join(part)).map_err(|e| e.to_string())?;
        }
        let mut this = Self {
            dir: dir.to_path_buf(),
            daemons: Vec::new(),
        };
        let write = |name: &str, text: &str| {
            std::fs::write(dir.join(name), text).map_err(|e| e.to_string())
        };
        let node = output(Command::new("hostname").arg("-s"))?;
        write("slurm.conf", &configuration(dir, node.trim()))?;
        // Between daemons of one user on one machine, it need not be a secret.
        write("munge.key", &"headwater ".repeat(100))?;
        output(Command::new("chmod").arg("600").arg(dir.join("munge.key")))?;
        let at = |name: &str| dir.join(name).display().to_string();
        let munge = [
            "--foreground".to_string(),
            "--force".into(),
            format!("--key-file={}", at("munge.key")),
            format!("--socket={}", at("munge.socket")),
            format!("--pid-file={}", at("munge.pid")),
            format!("--log-file={}", at("munge.log")),
            format!("--seed-file={}", at("munge.seed")),
        ];
        this.daemon("munged", &munge)?;
        this.until("munged", || dir.join("munge.socket").exists())?;
        let clean = ["-D".to_string(), "-c".into(), "-f".into(), at("slurm.conf")];
        this.daemon("slurmctld", &clean)?;
        this.daemon("slurmd", &clean)?;
        this.until("slurmd", || {
            let mut state = Command::new("sinfo");
            state
                .args(["-h", "-o", "%T"])
                .env("SLURM_CONF", at("slurm.conf"));
            output(&mut state).is_ok_and(|s| s.trim() == "idle")
        })?;
        Ok(this)
    }

    /// Where its configuration is, for `SLURM_CONF`.
    pub fn configuration(&self) -> PathBuf {
        self.dir.join("slurm.conf")
    }

    fn daemon(&mut self, name: &str, args: &[String]) -> Result<(), String> {
        let log = std::fs::File::create(self.dir.join(format!("{name}.out")));
        let log = log.map_err(|e| e.to_string())?;
        let twin = log.try_clone().map_err(|e| e.to_string())?;
        let started = Command::new(format!("/usr/sbin/{name}"))
            .args(args)
            .env("SLURM_CONF", self.configuration())
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(twin)
            .spawn();
        let daemon = started.map_err(|_| {
            format!(
                "there is no {name}; type:  apt-get install slurmctld slurmd slurm-client munge"
            )
        })?;
        self.daemons.push(daemon);
        Ok(())
    }

    fn until(&mut self, name: &str, ready: impl Fn() -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !ready() {
            let ended = self
                .daemons
                .iter_mut()
                .any(|d| !matches!(d.try_wait(), Ok(None)));
            if ended || start.elapsed() > PATIENCE {
                let said = std::fs::read_to_string(self.dir.join(format!("{name}.out")));
                let said = said.unwrap_or_default();
                let last = said.lines().last().unwrap_or("").to_string();
                return Err(format!("it did not start; {name} last said: {last}"));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        // Steps outlive the node's daemon.
        let configuration = self.configuration();
        let mut end = Command::new("timeout");
        end.args(["10", "scancel", "--me"]);
        let _ = output(end.env("SLURM_CONF", configuration));
        for mut daemon in self.daemons.drain(..).rev() {
            let _ = output(Command::new("kill").arg(daemon.id().to_string()));
            let start = Instant::now();
            while matches!(daemon.try_wait(), Ok(None)) && start.elapsed() < PATIENCE {
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// One node, this machine, with room for the ranks of a test.
fn configuration(dir: &Path, node: &str) -> String {
    let free = || {
        let socket = std::net::TcpListener::bind("127.0.0.1:0");
        socket.and_then(|s| s.local_addr()).map_or(0, |a| a.port())
    };
    let (controller, daemon, at) = (free(), free(), dir.display());
    format!(
        "ClusterName=headwater
SlurmctldHost={node}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={at}/munge.socket
SlurmctldPort={controller}
SlurmdPort={daemon}
StateSaveLocation={at}/state
SlurmdSpoolDir={at}/spool
SlurmctldPidFile={at}/slurmctld.pid
SlurmdPidFile={at}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/linear
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={node} NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes={node} Default=YES State=UP OverSubscribe=YES
"
    )
}
