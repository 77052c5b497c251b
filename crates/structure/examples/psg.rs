//! Prints the structure of a file, or with `--counts` only its figures.
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = args.first() else { return };
    match headwater_structure::analyse(path.as_ref(), &Default::default()) {
        Ok(mut s) => {
            if let Some(wanted) = args.get(1).filter(|a| *a != "--counts") {
                let mut kept = std::mem::take(&mut s.functions);
                kept.retain(|f| headwater_structure::names(&s, f, wanted));
                s.functions = kept;
            }
            if args.get(1).is_none_or(|a| a != "--counts") {
                print!("{}", headwater_structure::render_tree(&s));
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
