//! `man` and `completions`: what is made from the definition of the command line.

use super::Outcome;
use crate::args::{ManArgs, definition};
use crate::exit;
use crate::output::print_screened;
use clap_complete::Shell;

const NAME: &str = "headwater";

/// `headwater completions`.
pub fn completions(shell: Shell) -> Outcome {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut definition(), NAME, &mut text);
    print_screened(&String::from_utf8_lossy(&text))
}

/// `headwater man`.
pub fn man(args: &ManArgs) -> Outcome {
    if let Some(dir) = &args.dir {
        let made =
            std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(definition(), dir));
        made.map_err(|e| format!("cannot write man pages into {}: {e}", dir.display()))?;
        return Ok(exit::DONE);
    }
    let mut all = definition().disable_help_subcommand(true);
    all.build();
    let page = match &args.command {
        None => Some(&all),
        Some(name) => all.find_subcommand(name),
    };
    let Some(page) = page else {
        let names: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        return Err(format!(
            "there is no command {}; there are {}",
            args.command.as_deref().unwrap_or(""),
            names.join(", ")
        )
        .into());
    };
    let mut text = Vec::new();
    clap_mangen::Man::new(page.clone())
        .render(&mut text)
        .map_err(|e| format!("cannot make the man page: {e}"))?;
    print_screened(&String::from_utf8_lossy(&text))
}
