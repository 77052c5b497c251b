//! The testbed's programs compiled with the plugin (`cargo xtask compiled`): whether all compile, and how what the
//! compiler says of loops and MPI calls agrees with the machine code.

use crate::compilers;
use crate::request::Request;
use crate::setup;
use crate::shell::Done;
use crate::testbed;
use headwater_model::dependence::{Agreement, Comparison};

/// `cargo xtask compiled`.
///
/// # Errors
/// A program does not compile, or its structure cannot be read.
pub fn command(arguments: &[String]) -> Done {
    if let Some(word) = arguments.first() {
        return Err(format!("{word} is not known"));
    }
    setup::build_command()?;
    let place = setup::target().join("testbed/plugin");
    let times = place.join("times");
    let _ = std::fs::remove_dir_all(&place);
    std::fs::create_dir_all(&place).map_err(|e| e.to_string())?;
    print!("{}", compilers::HEAD);
    let mut all = Comparison::default();
    let mut all_times = String::new();
    let mut count = 0;
    for name in testbed::names(&Request::default()) {
        let _ = std::fs::remove_file(&times);
        let program = testbed::build_with_plugin(&name, &place, &times)?;
        let found = compilers::compared(&program)?;
        let taken = std::fs::read_to_string(&times).unwrap_or_default();
        print!("{}", compilers::row(&format!("`{name}`"), &found, &taken));
        for other in found.loops.others.iter().chain(&found.mpi.others) {
            println!("    {other}");
        }
        add(&mut all, found);
        all_times += &taken;
        count += 1;
    }
    let name = format!("all {count}");
    print!("{}", compilers::row(&name, &all, &all_times));
    Ok(())
}

fn add(all: &mut Comparison, one: Comparison) {
    let agreement = |all: &mut Agreement, one: Agreement| {
        all.both += one.both;
        all.others.extend(one.others);
    };
    all.before += one.before;
    all.after += one.after;
    agreement(&mut all.loops, one.loops);
    agreement(&mut all.mpi, one.mpi);
}
