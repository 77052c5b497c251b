//! Peek.
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    let run = headwater_format::spool::read_spool(std::path::Path::new(&dir)).unwrap();
    let wall = run.ranks.iter().map(|r| r.wall_ns).max().unwrap_or(0);
    let len: u64 = run.header.windows.iter().map(|w| w.length_ns).sum();
    println!(
        "ranks {} wall {:.3} windows {} share {:.3} events {} per rank {:.0}",
        run.header.ranks,
        wall as f64 * 1e-9,
        run.header.windows.len(),
        len as f64 / wall as f64,
        run.events.len(),
        run.events.len() as f64 / run.header.ranks as f64
    );
    for r in 0..run.header.ranks.min(4) {
        let ev: Vec<_> = run.events.iter().filter(|e| e.rank == r).collect();
        println!(
            "rank {r}: {} linked {}",
            ev.len(),
            ev.iter().filter(|e| e.link != 0).count()
        );
    }
    for w in run.header.windows.iter().take(12) {
        println!("{w:?}");
    }
    for m in &run.header.missing {
        println!("{m}");
    }
    if let Some(out) = std::env::args().nth(2) {
        headwater_format::write_run(std::path::Path::new(&out), &run).unwrap();
    }
}
