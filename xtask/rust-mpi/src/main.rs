//! A ring in Rust: even ranks compute more, and all meet in a reduction. Functions are not inlined, so that each has a
//! frame of its own.

use mpi::collective::SystemOperation;
use mpi::traits::*;

/// Work that nobody can leave out.
#[inline(never)]
fn relax(cells: &mut [f64], rounds: usize) -> f64 {
    for _ in 0..rounds {
        for i in 1..cells.len() - 1 {
            cells[i] = 0.25 * (cells[i - 1] + 2.0 * cells[i] + cells[i + 1]);
        }
    }
    std::hint::black_box(cells.iter().sum())
}

/// Passes a number on around the ring.
#[inline(never)]
fn pass_on<C: Communicator>(world: &C, value: f64) -> f64 {
    let (rank, size) = (world.rank(), world.size());
    let mut taken = 0.0;
    mpi::request::scope(|scope| {
        let next = world.process_at_rank((rank + 1) % size);
        let sent = next.immediate_send(scope, &value);
        let before = world.process_at_rank((rank + size - 1) % size);
        before.receive_into(&mut taken);
        sent.wait();
    });
    taken
}

/// Sums up over all ranks.
#[inline(never)]
fn sum_up<C: CommunicatorCollectives>(world: &C, value: f64) -> f64 {
    let mut sum = 0.0;
    world.all_reduce_into(&value, &mut sum, SystemOperation::sum());
    sum
}

fn main() {
    let universe = mpi::initialize().expect("MPI is there");
    let world = universe.world();
    let mut cells = vec![world.rank() as f64; 4096];
    let mut sum = 0.0;
    for _ in 0..20 {
        let rounds = if world.rank() % 2 == 0 { 800 } else { 400 };
        let value = relax(&mut cells, rounds);
        sum = sum_up(&world, pass_on(&world, value));
    }
    if world.rank() == 0 {
        println!("{sum:.6}");
    }
}
