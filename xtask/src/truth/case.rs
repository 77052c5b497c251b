//! One case made: planted, checked, its dose set, its true cost measured. Nothing here runs Headwater.

use super::choose;
use super::codes::{Code, Scaling, Tree};
use super::cost::{self, Yardstick};
use super::manifest::{Manifest, Planted, sha256};
use super::plan::{What, Wish};
use super::plant::{self, Method, Patched};
use super::run::{Dose, Measured, Runner, comparable};
use super::sites::Site;
use super::tokens::Kind;
use headwater_model::RankSet;
use std::collections::BTreeMap;

/// Sites tried for each method before the case is dropped.
const TRIES: usize = 6;

/// The dose is set so that the effect is at least this share of the run, and then scaled down, as less than this is
/// not seen in a single run.
const CLEAR: f64 = 0.10;

/// A dose is not raised above so many times of its first guess.
const MOST_STEPS: u32 = 7;

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

impl Bench<'_> {
    fn largest(&self) -> u32 {
        self.code.scales.last().copied().unwrap_or(2)
    }

    fn scaling(&self) -> String {
        match self.code.scaling {
            Scaling::Strong => "strong".into(),
            Scaling::Weak => "weak".into(),
        }
    }

    /// A clean run at each scale.
    fn clean(&self) -> Result<BTreeMap<u32, Measured>, String> {
        let one = |&ranks: &u32| Ok((ranks, self.runner.run(&self.tree, ranks, &Dose::new())?));
        self.code.scales.iter().map(one).collect()
    }

    fn manifest(&self, seed: u64, wish: &Wish, clean: &BTreeMap<u32, Measured>) -> Manifest {
        Manifest {
            seed,
            wish: wish.clone(),
            scales: self.code.scales.clone(),
            scaling: self.scaling(),
            planted: None,
            clean: clean.iter().map(|(n, m)| (*n, m.ranks.clone())).collect(),
        }
    }

    /// The unpatched program.
    fn restore(&self) -> Result<(), String> {
        if self.tree.restore()? {
            self.tree.rebuild()?;
        }
        Ok(())
    }

    /// Makes a case; `Err` says why it cannot be one.
    pub fn make(&self, seed: u64, wish: &Wish) -> Result<Manifest, String> {
        if wish.what == What::Control {
            self.restore()?;
            return Ok(self.manifest(seed, wish, &self.clean()?));
        }
        let mut methods = vec![Method::of(wish.what, wish.own_work)];
        match methods[0] {
            Method::Repeat => methods.push(Method::Work),
            Method::Io => methods.push(Method::Sleep),
            _ => {}
        }
        let mut reasons: Vec<String> = Vec::new();
        for method in methods {
            let order = choose::order(&self.sites, wish, method);
            if order.is_empty() {
                reasons.push(format!("no executed statement suits {method:?}"));
            }
            for site in order.into_iter().take(TRIES) {
                match self.try_site(seed, wish, method, site) {
                    Ok(manifest) => return Ok(manifest),
                    Err(e) => {
                        let line = site.statement.first;
                        reasons.push(format!("{method:?} at {}:{line}: {e}", site.file.display()));
                    }
                }
            }
        }
        let _ = self.tree.restore();
        Err(reasons.join("; "))
    }

    fn try_site(
        &self,
        seed: u64,
        wish: &Wish,
        method: Method,
        site: &Site,
    ) -> Result<Manifest, String> {
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
        let clean = self.clean()?;
        let yardstick = Yardstick::of(wish, self.largest(), self.code.threads);
        let base = match clean.get(&yardstick.ranks) {
            Some(run) => run.clone(),
            None => self.runner.run(&self.tree, yardstick.ranks, &Dose::new())?,
        };
        let dose = self.calibrate(wish, method, site, yardstick, &base)?;
        self.check(wish, method, &dose, &clean)?;
        let truth = cost::pairs(&self.runner, &self.tree, &dose, yardstick)?;
        let mut manifest = self.manifest(seed, wish, &clean);
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
        let grows = match wish.what {
            What::Message => true,
            What::NonShrinking => method == Method::Repeat || self.code.scaling == Scaling::Weak,
            _ => false,
        };
        if grows {
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
        if wish.what == What::Serial {
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
        let target = wish.dose * model;
        let clear = target.max(CLEAR * model);
        let executions = match (wish.what, method) {
            (What::Once, _) => 1.0,
            _ => site.count().max(1) as f64,
        };
        let mut dose = match method {
            Method::Repeat => 0.25,
            _ => clear / executions / step_seconds(method),
        };
        for _ in 0..MOST_STEPS {
            let environment = yardstick.environment(&self.environment(wish, method, site, dose));
            let run = self.runner.run(&self.tree, yardstick.ranks, &environment)?;
            let effect = yardstick.figure(&run) - yardstick.figure(base);
            if effect >= 0.5 * clear {
                let dose = dose * target / effect;
                return Ok(self.environment(wish, method, site, dose));
            }
            if run.elapsed > 3.0 * base.elapsed + 2.0 {
                return Err("it takes long, but not between MPI_Init and MPI_Finalize".into());
            }
            let seen = effect > 0.02 * model;
            dose *= if seen {
                (1.2 * clear / effect).min(16.0)
            } else {
                8.0
            };
        }
        Err("no dose has an effect".into())
    }

    /// Whether the program with the dose is still the same program: as many MPI calls of each rank, output alike.
    fn check(
        &self,
        wish: &Wish,
        method: Method,
        dose: &Dose,
        clean: &BTreeMap<u32, Measured>,
    ) -> Result<(), String> {
        let Some((&ranks, before)) = clean.iter().next() else {
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
        let few = after.slowest() - before.slowest();
        let most = wish.dose * after.model(self.code.threads);
        if wish.what == What::NonShrinking && few > 2.0 * most + 0.05 * before.slowest() {
            return Err("the planted work shrinks with more ranks".into());
        }
        if !comparable(&before.output, &after.output) {
            return Err("the program prints other figures".into());
        }
        Ok(())
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
            let set: RankSet = wish.who.concerned(n).into_iter().collect();
            (n.to_string(), set.to_string())
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

/// Largest relative difference between the ranks' numbers.
fn difference(a: &[u64], b: &[u64]) -> f64 {
    let one = |(x, y): (&u64, &u64)| x.abs_diff(*y) as f64 / (*x).max(1) as f64;
    a.iter().zip(b).map(one).fold(0.0, f64::max)
}
