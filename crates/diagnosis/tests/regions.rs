//! What a diagnosis that is limited to a region of the program's own says.

mod support;

use headwater_diagnosis::Options;
use headwater_model::diagnosis::{Diagnosis, Scaling};
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
