//! One case made: planted, checked, its dose set, its true cost measured. Nothing here runs Headwater.

use super::choose;
use super::codes::{Code, Scaling, Tree};
use super::cost::{self, Measure, Yardstick};
use super::manifest::{Manifest, Planted, sha256};
use super::plan::{What, Who, Wish};
use super::plant::{self, Method, Patched};
use super::run::{Dose, Measured, Runner, comparable};
use super::sites::Site;
use super::tokens::Kind;
use headwater_model::RankSet;
use std::collections::BTreeMap;
use std::time::Instant;

/// Sites tried for each method before the case is dropped.
const TRIES: usize = 6;

/// Seconds after which no further site is tried: a bench of many cases has to end.
const LONGEST_SEARCH: f64 = 120.0;

/// Where wall times are compared, the dose is set so that the effect is at least this share of the run, and then scaled
/// down, as less than this is not seen in a single run.
const CLEAR: f64 = 0.30;

/// Executions of the planted code on each rank that is concerned, at least: fewer are no steady cause, and their number
/// cannot follow the dose.
const FEWEST_REPEATS: u64 = 4;

/// A dose that has to be multiplied by more than this, or divided, is measured again.
const NEAR: f64 = 3.0;

/// A dose is not raised above so many times of its first guess.
const MOST_STEPS: u32 = 7;

/// Why a case is dropped whose ranks would hardly be the slowest.
const TO_SPARE: &str = "the ranks have too much time to spare";

/// What a code needs for its cases.
pub struct Bench<'a> {
    /// Recipe.
    pub code: &'a Code,
    /// Its tree.
    pub tree: Tree,
    /// Executed statements.
    pub sites: Vec<Site>,
    /// Runs it.
    pub runner: Runner,
    /// A clean run at each scale.
    pub usual: BTreeMap<u32, Measured>,
    /// The one at the largest scale.
    pub largest_run: Measured,
}

/// Seconds that one step of a method takes, about: the first guess of a dose.
fn step_seconds(method: Method) -> f64 {
    match method {
        Method::Repeat => 1.0,
        Method::Work | Method::Chain | Method::Lock => 4e-9,
        Method::Sleep => 1e-6,
        Method::Io => 2e-3,
        Method::Message => 2e-10,
    }
}

/// Whether what is planted is lost by how it grows with the ranks: what the smallest scale has of it too is no loss.
fn grows(wish: &Wish) -> bool {
    match wish.what {
        What::NonShrinking => true,
        What::Sleep | What::Io => wish.who == Who::All,
        _ => false,
    }
}

impl Bench<'_> {
    fn largest(&self) -> u32 {
        self.code.scales.last().copied().unwrap_or(2)
    }

    fn smallest(&self) -> u32 {
        self.code.scales.first().copied().unwrap_or(1)
    }

    /// Ranks that are concerned at a scale.
    fn concerned(&self, wish: &Wish, scale: u32) -> Vec<u32> {
        wish.who.concerned(self.code.processes(scale))
    }

    fn scaling(&self) -> String {
        match self.code.scaling {
            Scaling::Strong => "strong".into(),
            Scaling::Weak => "weak".into(),
        }
    }

    fn manifest(&self, seed: u64, wish: &Wish) -> Manifest {
        Manifest {
            seed,
            wish: wish.clone(),
            scales: self.code.scales.clone(),
            of_threads: !self.code.mpi,
            scaling: self.scaling(),
            planted: None,
            clean: self
                .usual
                .iter()
                .map(|(n, m)| (*n, m.ranks.clone()))
                .collect(),
        }
    }

    /// Makes a case; `Err` says why it cannot be one.
    pub fn make(&self, seed: u64, wish: &Wish) -> Result<Manifest, String> {
        if wish.what == What::Control {
            self.tree.clean()?;
            return Ok(self.manifest(seed, wish));
        }
        self.check_room(wish)?;
        let mut methods = vec![Method::of(wish.what, wish.own_work)];
        match methods[0] {
            Method::Repeat => methods.push(Method::Work),
            Method::Io => methods.push(Method::Sleep),
            _ => {}
        }
        let mut reasons: Vec<String> = Vec::new();
        let start = Instant::now();
        for method in methods {
            let order = choose::order(&self.sites, wish, method);
            if order.is_empty() {
                reasons.push(format!("no executed statement suits {method:?}"));
            }
            for site in order.into_iter().take(TRIES) {
                if start.elapsed().as_secs_f64() > LONGEST_SEARCH {
                    reasons.push("no time is left for further sites".into());
                    break;
                }
                match self.try_site(seed, wish, method, site) {
                    Ok(manifest) => return Ok(manifest),
                    Err(e) => {
                        let line = site.statement.first;
                        reasons.push(format!("{method:?} at {}:{line}: {e}", site.file.display()));
                    }
                }
            }
        }
        // The next case of this code may be a control.
        self.tree.clean()?;
        Err(reasons.join("; "))
    }

    /// Calls in which all ranks wait for one another, in a clean run.
    fn fewest_meetings(&self) -> u64 {
        let meetings = self.largest_run.ranks.iter().map(|r| r.meetings);
        meetings.min().unwrap_or(0)
    }

    /// Whether the ranks that are concerned have little enough time to spare for the wanted cost, wherever it is planted.
    fn check_room(&self, wish: &Wish) -> Result<(), String> {
        let yardstick = Yardstick::of(wish, self.code);
        // What is measured by wall time may slow all ranks, and of a gradient nobody knows the slope yet.
        if yardstick.measure == Measure::Wall || wish.who == Who::Gradient {
            return Ok(());
        }
        let mut planted = vec![0.0; self.code.processes(yardstick.ranks) as usize];
        for rank in self.concerned(wish, yardstick.ranks) {
            if let Some(slot) = planted.get_mut(rank as usize) {
                *slot = 1.0;
            }
        }
        let target = wish.dose * self.largest_run.model(self.code.threads);
        let factor = yardstick.factor(&self.largest_run.own(), &planted, target);
        factor.map(|_| ()).ok_or(TO_SPARE.into())
    }

    fn try_site(
        &self,
        seed: u64,
        wish: &Wish,
        method: Method,
        site: &Site,
    ) -> Result<Manifest, String> {
        // Otherwise the rank that goes first stays ahead, and later executions cause no new waits.
        let in_turn = wish.who == Who::Turns || wish.what == What::Chain;
        if in_turn && site.count() > self.fewest_meetings() {
            return Err("ranks do not wait for one another between its executions".into());
        }
        self.tree.restore()?;
        let path = self.tree.root().join(&site.file);
        let source = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        let in_threads = matches!(wish.what, What::Thread | What::Lock);
        let patched = plant::plant(&source, site, method, in_threads)?;
        self.tree.patch(&site.file, patched.text.as_bytes())?;
        self.tree.rebuild().map_err(|e| {
            let said: String = e.chars().rev().take(120).collect();
            format!("does not build: {}", said.chars().rev().collect::<String>())
        })?;
        let yardstick = Yardstick::of(wish, self.code);
        let base = self.runner.run(&self.tree, yardstick.ranks, &Dose::new())?;
        let dose = self.calibrate(wish, method, site, yardstick, &base)?;
        let smallest = self.check(wish, method, &dose)?;
        let mut truth = cost::measure(&self.runner, &self.tree, &dose, yardstick, &base)?;
        if grows(wish) && yardstick.measure != Measure::Wall {
            truth.lessen(self.ideal(&smallest));
        }
        if wish.what.is_of_threads()
            && yardstick.measure == Measure::Wall
            && let Some((factor, model)) = self.at_largest(&dose, yardstick)?
        {
            truth.scale(factor, model);
        }
        self.check_repeats(wish, yardstick, &truth)?;
        check_ranks(wish, &self.concerned(wish, yardstick.ranks), &truth)?;
        let mut manifest = self.manifest(seed, wish);
        manifest.planted = Some(self.planted(wish, method, site, &patched, dose, truth));
        Ok(manifest)
    }

    /// The environment for a dose.
    fn environment(&self, wish: &Wish, method: Method, site: &Site, dose: f64) -> Dose {
        let (who, at) = wish.who.code();
        let mut out: Dose = vec![
            ("HW_DOSE".into(), format!("{dose:.9}")),
            ("HW_WHO".into(), who.to_string()),
            ("HW_AT".into(), at.to_string()),
        ];
        // What a statement repeats shrinks with more ranks under strong scaling; what does not shrink grows against it.
        // What stays the same on all ranks is no loss under weak scaling, and what shrinks with more ranks none under strong
        // scaling.
        let stays = wish.what == What::NonShrinking
            && method != Method::Repeat
            && self.code.scaling == Scaling::Strong;
        if wish.what == What::Message || grows(wish) && !stays {
            out.push(("HW_LARGEST".into(), self.largest().to_string()));
        }
        if wish.what == What::Once {
            // The counter of a loop's line has its iterations in it, so only the first executions are certain.
            let known = if site.statement.kind == Kind::Loop {
                2
            } else {
                site.count()
            };
            let when = 1 + wish.stream % known.max(1);
            out.push(("HW_WHEN".into(), when.to_string()));
        }
        // Threads may do at the same time what is asleep in each.
        let is_asleep = matches!(wish.what, What::Sleep | What::Io);
        if wish.what == What::Serial || is_asleep && !self.code.mpi {
            out.push(("HW_SERIAL".into(), "1".into()));
        }
        if wish.what == What::Thread {
            let thread = wish.stream % u64::from(self.code.threads.max(1));
            out.push(("HW_THREAD_ONLY".into(), thread.to_string()));
        }
        out
    }

    /// Finds the dose that costs what is wanted.
    fn calibrate(
        &self,
        wish: &Wish,
        method: Method,
        site: &Site,
        yardstick: Yardstick,
        base: &Measured,
    ) -> Result<Dose, String> {
        let model = base.model(self.code.threads).max(1e-3);
        // What the smallest scale has of it too is no loss.
        let (smallest, largest) = (self.smallest(), self.largest());
        let lost = if grows(wish) {
            1.0 - f64::from(smallest) / f64::from(largest)
        } else {
            1.0
        };
        let target = wish.dose * model / lost.max(0.5);
        let executions = match (wish.what, method) {
            (What::Once, _) => 1.0,
            _ => site.count().max(1) as f64,
        };
        let by_wall = yardstick.measure == Measure::Wall;
        let first = if by_wall {
            target.max(CLEAR * model)
        } else {
            target
        };
        let mut dose = match method {
            Method::Repeat => (FEWEST_REPEATS as f64 / executions).max(0.25),
            _ => first / executions / step_seconds(method),
        };
        for _ in 0..MOST_STEPS {
            let environment = yardstick.environment(&self.environment(wish, method, site, dose));
            let run = self.runner.run(&self.tree, yardstick.ranks, &environment)?;
            let (factor, done) = if by_wall {
                by_wall_time(run.wall() - base.wall(), target, first, model)
            } else {
                by_planted_code(yardstick, &run.planted(), &base.own(), target)?
            };
            if done {
                return Ok(self.environment(wish, method, site, dose * factor));
            }
            if run.elapsed > 3.0 * base.elapsed + 2.0 && factor > 1.0 {
                return Err("it takes long, but not between MPI_Init and MPI_Finalize, or outside of the program".into());
            }
            dose *= factor;
        }
        Err("no dose has the wanted cost".into())
    }

    /// By what the planted code of the slowest rank is longer on all ranks than on those of a yardstick: under strong scaling
    /// each rank executes a statement less often, the more there are. Beside it the seconds of the run on all ranks. `None`
    /// where the code is not measured, as under a lock.
    fn at_largest(&self, dose: &Dose, yardstick: Yardstick) -> Result<Option<(f64, f64)>, String> {
        let environment = yardstick.environment(dose);
        let few = self.runner.run(&self.tree, yardstick.ranks, &environment)?;
        let few = few.most_planted();
        if few <= 0.0 {
            return Ok(None);
        }
        let all = self.runner.run(&self.tree, self.largest(), dose)?;
        Ok(Some((
            all.most_planted() / few,
            all.model(self.code.threads),
        )))
    }

    /// Seconds that the planted code of the slowest rank would take at the largest scale if it grew as it should from a run
    /// with the dose at the smallest one.
    fn ideal(&self, smallest: &Measured) -> f64 {
        let planted = smallest.most_planted();
        match self.code.scaling {
            Scaling::Strong => planted * f64::from(self.smallest()) / f64::from(self.largest()),
            Scaling::Weak => planted,
        }
    }

    /// Whether every rank that is concerned executes the planted code often enough.
    fn check_repeats(
        &self,
        wish: &Wish,
        yardstick: Yardstick,
        truth: &cost::Truth,
    ) -> Result<(), String> {
        if wish.what == What::Once || truth.entries.is_empty() {
            return Ok(());
        }
        for rank in self.concerned(wish, yardstick.ranks) {
            let entries = truth.entries.get(rank as usize).copied().unwrap_or(0);
            if entries < FEWEST_REPEATS {
                return Err(format!("rank {rank} executes it only {entries} times"));
            }
        }
        Ok(())
    }

    /// Whether the program with the dose is still the same program: as many MPI calls of each rank, output alike. Gives the
    /// run with the dose at the smallest scale.
    fn check(&self, wish: &Wish, method: Method, dose: &Dose) -> Result<Measured, String> {
        let Some((&ranks, before)) = self.usual.iter().next() else {
            return Err("the code has no scales".into());
        };
        let after = self.runner.run(&self.tree, ranks, dose)?;
        if !wish.what.adds_calls() && before.calls() != after.calls() {
            // Some programs differ by themselves.
            let again = self.runner.run(&self.tree, ranks, &Dose::new())?;
            let differ = difference(&before.calls(), &again.calls());
            let by = difference(&before.calls(), &after.calls());
            if method == Method::Repeat && by > 2.0 * differ || by > 0.02 + 2.0 * differ {
                return Err("the number of MPI calls changes".into());
            }
        }
        // What does not shrink costs no more on few ranks than on many.
        let few = after.most_planted();
        let most = wish.dose * after.model(self.code.threads);
        if wish.what == What::NonShrinking && few > 2.0 * most + 0.05 * before.slowest() {
            return Err("the planted work shrinks with more ranks".into());
        }
        if !comparable(&before.output, &after.output) {
            return Err("the program prints other figures".into());
        }
        Ok(after)
    }

    fn planted(
        &self,
        wish: &Wish,
        method: Method,
        site: &Site,
        patched: &Patched,
        environment: Dose,
        truth: cost::Truth,
    ) -> Planted {
        let ranks = |&n: &u32| {
            let set: RankSet = self.concerned(wish, n).into_iter().collect();
            (self.code.processes(n).to_string(), set.to_string())
        };
        // Sleep in place of I/O is the same class; all else keeps its class whatever the method is.
        Planted {
            method,
            file: site.file.display().to_string(),
            function: site.function.clone(),
            lines: patched.lines,
            block: patched.block,
            executions: site.counts.clone(),
            heat: site.heat,
            depth: site.statement.depth,
            callers: site.callers,
            inlined: site.inlined,
            template: site.template,
            class: wish.what.class().unwrap_or("").to_string(),
            ranks: self.code.scales.iter().map(ranks).collect(),
            threads: match wish.what {
                What::Thread => {
                    Some((wish.stream % u64::from(self.code.threads.max(1))).to_string())
                }
                What::Serial => Some("0".into()),
                _ => None,
            },
            environment,
            source_sha256: sha256(patched.text.as_bytes()),
            truth,
        }
    }
}

/// What a dose is to be multiplied by, and whether that makes it the wanted one, by an effect on wall time.
fn by_wall_time(effect: f64, target: f64, clear: f64, model: f64) -> (f64, bool) {
    if effect >= 0.5 * clear {
        (target / effect, true)
    } else if effect > 0.02 * model {
        ((1.2 * clear / effect).min(16.0), false)
    } else {
        (8.0, false)
    }
}

/// Part of the longest that each rank that is concerned must spend in the planted code.
const EVEN: f64 = 0.5;

/// Whether the ranks that are concerned spend about as long in the planted code as each other: a statement that runs longer
/// on some of them makes another cause than the plan says.
fn check_ranks(wish: &Wish, concerned: &[u32], truth: &cost::Truth) -> Result<(), String> {
    if truth.planted.is_empty() || matches!(wish.who, Who::Gradient | Who::Turns) {
        return Ok(());
    }
    let seconds = |rank: u32| truth.planted.get(rank as usize).copied().unwrap_or(0.0);
    let own: Vec<f64> = concerned.iter().map(|r| seconds(*r)).collect();
    let most = own.iter().copied().fold(0.0, f64::max);
    let least = own.iter().copied().fold(f64::INFINITY, f64::min);
    if least < EVEN * most {
        return Err(format!(
            "ranks that should have the same spend {least:.4} to {most:.4} s in it"
        ));
    }
    Ok(())
}

/// The same by the seconds of the planted code.
fn by_planted_code(
    yardstick: Yardstick,
    planted: &[f64],
    own: &[f64],
    target: f64,
) -> Result<(f64, bool), String> {
    let most = planted.iter().copied().fold(0.0, f64::max);
    // Too little to be scaled.
    if most < 1e-4 {
        return Ok((16.0, false));
    }
    let factor = yardstick.factor(own, planted, target).ok_or(TO_SPARE)?;
    Ok((factor, (1.0 / NEAR..=NEAR).contains(&factor)))
}

/// Largest relative difference between the ranks' numbers.
fn difference(a: &[u64], b: &[u64]) -> f64 {
    let one = |(x, y): (&u64, &u64)| x.abs_diff(*y) as f64 / (*x).max(1) as f64;
    a.iter().zip(b).map(one).fold(0.0, f64::max)
}
