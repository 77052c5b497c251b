//! What a diagnosis that is limited to a region of the program's own says.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{Diagnosis, Scaling};
use headwater_model::run::{Context, CtxId, Module, Run};
use support::{diagnose, piece, run, structure};

/// Rank 3 has twice the work, in no region.
fn limited_to(region: Option<&str>) -> Diagnosis {
    let late = |r: u32| f64::from(1 + u32::from(r == 3));
    let work = [piece("MPI_Allreduce", move |r, p| {
        late(r) * 8.0 / f64::from(p)
    })];
    let options = Options {
        scaling: Some(Scaling::Strong),
        region: region.map(str::to_string),
        ..Options::default()
    };
    let runs = [4, 8].map(|p| run(p, &work)).into();
    diagnose(runs, structure(1), &options).expect("the runs belong together")
}

#[test]
fn a_region_without_a_cause_does_not_say_that_the_loss_has_none() {
    let (whole, limited) = (limited_to(None), limited_to(Some("solve")));
    assert_eq!(whole.causes.len(), 1);
    assert_eq!(limited.causes, []);
    let said = limited.headline.join(" ");
    assert!(
        said.ends_with("No cause was found in region solve; one is outside it."),
        "{said}"
    );
    assert!(!said.contains("no single place"), "{said}");
    // All other figures are those of the whole run.
    assert_eq!(limited.account, whole.account);
    assert_eq!(limited.scales, whole.scales);
}

/// The same program, whose loop and call are in region `solve`.
fn within_solve(mut run: Run) -> Run {
    let region = Context {
        parent: CtxId::NONE,
        module: run.modules.len() as u32,
        offset: 1,
        exact: false,
    };
    run.modules.push(Module::of_region("solve"));
    run.contexts.iter_mut().for_each(|c| c.parent = CtxId(0));
    run.contexts.insert(0, region);
    let up = |ctx: &mut CtxId| ctx.0 += u32::from(*ctx != CtxId::NONE);
    for s in &mut run.samples {
        up(&mut s.after);
        up(&mut s.ctx);
    }
    for s in &mut run.segments {
        up(&mut s.from);
        up(&mut s.to);
    }
    run.calls.iter_mut().for_each(|c| up(&mut c.ctx));
    run
}

#[test]
fn a_cause_in_a_region_says_so() {
    let late = |r: u32| f64::from(1 + u32::from(r == 3));
    let work = [piece("MPI_Allreduce", move |r, p| {
        late(r) * 8.0 / f64::from(p)
    })];
    let found = |region: Option<&str>| {
        let options = Options {
            scaling: Some(Scaling::Strong),
            region: region.map(str::to_string),
            ..Options::default()
        };
        let runs = [4, 8].map(|p| within_solve(run(p, &work))).into();
        diagnose(runs, structure(1), &options).expect("the runs belong together")
    };
    let whole = found(None);
    let [cause] = &whole.causes[..] else {
        panic!("{:?}", whole.causes)
    };
    assert_eq!(cause.regions, ["solve"]);
    let limited = found(Some("solve"));
    assert_eq!(limited.causes, whole.causes);
    let said = limited.headline.join(" ");
    assert!(
        said.ends_with("Only causes in region solve are reported; there is none outside it."),
        "{said}"
    );
}
