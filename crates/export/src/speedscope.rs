//! Speedscope's own format: a sampled profile for each rank and thread, with weights in seconds.
//!
//! Waiting time in a frame is in a frame of its own inside it. See speedscope's wiki, "Importing from
//! custom sources", and `file-format-schema.json` on its site.

use crate::error::ExportError;
use crate::folded::WAITING;
use crate::stacks::{Stacks, Track};
use crate::wanted::Wanted;
use headwater_dataflow::Recorded;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct File<'a> {
    #[serde(rename = "$schema")]
    schema: &'static str,
    shared: Shared<'a>,
    profiles: Vec<Profile>,
    name: &'a str,
    active_profile_index: usize,
    exporter: &'static str,
}

#[derive(Serialize)]
struct Shared<'a> {
    frames: Vec<Frame<'a>>,
}

#[derive(Serialize)]
struct Frame<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Profile {
    r#type: &'static str,
    name: String,
    unit: &'static str,
    start_value: f64,
    end_value: f64,
    samples: Vec<Vec<u32>>,
    weights: Vec<f64>,
}

impl Profile {
    fn new(stacks: &Stacks, track: &Track) -> Self {
        let waiting = stacks.frames.len() as u32;
        let (mut samples, mut weights) = (Vec::new(), Vec::new());
        for (frame, spent) in &track.spent {
            let path = stacks.path(*frame);
            for (seconds, inside) in [(spent.time - spent.wait, None), (spent.wait, Some(waiting))]
            {
                if seconds > 0.0 {
                    samples.push(path.iter().copied().chain(inside).collect());
                    weights.push(seconds);
                }
            }
        }
        Self {
            r#type: "sampled",
            name: track.name(),
            unit: "seconds",
            start_value: 0.0,
            end_value: weights.iter().sum(),
            samples,
            weights,
        }
    }
}

pub(crate) fn write(
    runs: &[Recorded],
    wanted: &Wanted,
    out: &mut (dyn Write + Send),
) -> Result<(), ExportError> {
    for run in runs {
        let stacks = Stacks::new(run, wanted);
        let waiting = Frame {
            name: WAITING,
            file: None,
            line: None,
        };
        let frames = stacks.frames.iter().map(|f| Frame {
            name: &f.name,
            file: f.place.file.as_deref(),
            line: (f.place.first_line > 0).then_some(f.place.first_line),
        });
        let file = File {
            schema: "https://www.speedscope.app/file-format-schema.json",
            shared: Shared {
                frames: frames.chain([waiting]).collect(),
            },
            profiles: (stacks.tracks.iter())
                .map(|track| Profile::new(&stacks, track))
                .collect(),
            name: &run.run().header.name,
            active_profile_index: 0,
            exporter: concat!("headwater ", env!("CARGO_PKG_VERSION")),
        };
        serde_json::to_writer(&mut *out, &file).map_err(std::io::Error::from)?;
        writeln!(out)?;
    }
    Ok(())
}
