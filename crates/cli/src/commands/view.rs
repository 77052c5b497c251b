//! `view`: runs and their diagnosis in a browser.

use super::{Failure, Outcome, diagnose, page};
use crate::args::{Kind, ViewArgs};
use crate::exit;
use crate::output::{eprint_line, print};
use crate::progress::Progress;
use crate::source::Files;
use headwater_viewer::server::Server;
use headwater_viewer::{Amounts, Subject};
use rustix::rand::{GetRandomFlags, getrandom};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::ErrorKind;
use std::process::{Command, Stdio};

/// What says that there is a display.
const DISPLAYS: [&str; 2] = ["DISPLAY", "WAYLAND_DISPLAY"];

/// `headwater view`.
pub fn command(args: &ViewArgs, quiet: bool) -> Outcome {
    // A port that is taken is reported before anything long begins.
    let server = bind(args.port)?;
    let progress = Progress::new(quiet, false);
    let runs = diagnose::open(&args.runs, progress)?;
    let depth = args.max_loop_depth;
    let whose = (args.runs.as_slice(), runs.first());
    let besides = page::besides(whose, &args.against, depth, progress)?;
    let structures = diagnose::structures(&runs, depth, progress);
    let options = headwater_diagnosis::Options {
        scaling: args.scaling.map(Kind::scaling),
        ..Default::default()
    };
    let stage = progress.stage("looking for causes", 0);
    let diagnosed = headwater_diagnosis::diagnose_runs(runs, structures, &options)
        .map_err(|e| e.to_string())?;
    drop(stage);
    let subject = Subject::new(diagnosed, besides, Amounts::LIVE);
    end_at_signals()?;
    let address = server.address();
    print(&format!("{address}\n"))?;
    let shown = !args.no_open && open(&address);
    if !quiet {
        eprint_line(if shown {
            "the page opens in the browser; Ctrl-C ends it"
        } else {
            "open this address in a browser on this machine; Ctrl-C ends it"
        });
    }
    let source = Files::of(args.no_source, &args.source);
    let failed = |e| format!("cannot serve the page: {e}");
    server.serve(&subject, &source).map_err(failed)?;
    Ok(exit::DONE)
}

fn bind(port: Option<u16>) -> Result<Server, Failure> {
    let token = token().map_err(|e| format!("the system gives no random numbers: {e}"))?;
    Server::bind(port, token).map_err(|e| {
        let port = port.unwrap_or(0);
        let why = match e.kind() {
            ErrorKind::AddrInUse => {
                format!("port {port} is taken; give another one to --port, or none")
            }
            ErrorKind::PermissionDenied => {
                format!(
                    "port {port} needs the rights of root; give a larger one to --port, or none"
                )
            }
            _ => format!("cannot listen on 127.0.0.1: {e}"),
        };
        why.into()
    })
}

/// 128 random bits as hexadecimal digits.
fn token() -> Result<String, rustix::io::Errno> {
    let mut bytes = [0u8; 16];
    let mut filled = 0;
    while filled < bytes.len() {
        let rest = bytes.get_mut(filled..).unwrap_or(&mut []);
        filled += getrandom(rest, GetRandomFlags::empty())?;
    }
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Ctrl-C and a request to end are how this command ends: both are success.
fn end_at_signals() -> Result<(), String> {
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|e| format!("cannot wait for Ctrl-C: {e}"))?;
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(i32::from(exit::DONE));
        }
    });
    Ok(())
}

/// Opens a browser, if there is a display; returns whether one was started.
fn open(address: &str) -> bool {
    let display = |name: &&str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    let there = cfg!(target_os = "macos") || DISPLAYS.iter().any(display);
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let start = || {
        let mut command = Command::new(opener);
        let quiet = command
            .arg(address)
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        quiet.stderr(Stdio::null()).spawn()
    };
    match there.then(start) {
        Some(Ok(mut child)) => {
            // Who opens the browser ends when it likes.
            std::thread::spawn(move || child.wait());
            true
        }
        _ => false,
    }
}
