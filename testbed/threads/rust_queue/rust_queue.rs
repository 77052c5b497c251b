//! Threads merge their results into one map under a mutex, and most of the work is in the merging.
use std::collections::BTreeMap;
use std::sync::Mutex;

const ITEMS: usize = 16_000;
const WORK: usize = 3000;

#[inline(never)]
fn compute(item: usize, terms: usize) -> f64 {
    let mut x = 1.0 + (item % 17) as f64;
    for k in 1..=terms {
        x += x / (k * k) as f64;
    }
    x
}

#[inline(never)]
fn merge(all: &Mutex<BTreeMap<usize, f64>>, item: usize, value: f64, terms: usize) {
    let mut all = all.lock().unwrap();
    let mut x = value;
    for k in 1..=terms {
        x += x / (k * k) as f64;
    }
    *all.entry(item % 64).or_default() += x;
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let dose: f64 = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(0.7);
    let threads: usize = arguments.next().and_then(|a| a.parse().ok()).unwrap_or(2);
    let all = Mutex::new(BTreeMap::new());
    std::thread::scope(|scope| {
        for t in 0..threads {
            let all = &all;
            scope.spawn(move || {
                for item in t * ITEMS / threads..(t + 1) * ITEMS / threads {
                    let value = compute(item, (WORK as f64 * (1.0 - dose)) as usize);
                    merge(all, item, value, (WORK as f64 * dose) as usize);
                }
            });
        }
    });
    println!("map {}", all.lock().unwrap()[&5]);
}
