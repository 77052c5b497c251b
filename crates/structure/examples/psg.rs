//! Prints the structure of a file, or with `--counts` only its figures.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = args.first() else { return };
    match headwater_structure::analyse(path.as_ref(), &Default::default()) {
        Ok(s) => {
            if args.get(1).is_none_or(|a| a != "--counts") {
                print!(
                    "{}",
                    headwater_structure::render_tree(&s, args.get(1).map(String::as_str))
                );
            }
            println!(
                "{:?} functions {} lines {}\n{:?}",
                s.counts,
                s.functions.len(),
                s.lines.len(),
                s.problems
            );
        }
        Err(e) => println!("{e}"),
    }
}
