//! Parts of the parallel view, and the dataflow of passes.

use serde::Serialize;

/// Graphs.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Graph {
    /// Parts of the parallel view that causes refer to.
    pub neighbourhoods: Vec<Neighbourhood>,
    /// The dataflow that made the diagnosis.
    pub flow: Option<Flow>,
}

/// The parallel view around a place.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Neighbourhood {
    /// Index of the run.
    pub scale: u32,
    /// The place.
    pub frame: u32,
    /// Vertices.
    pub vertices: Vec<NearVertex>,
    /// Edges between them.
    pub edges: Vec<NearEdge>,
    /// Whether there are more.
    pub thinned: bool,
}

/// A place on a rank and thread.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NearVertex {
    /// Frame.
    pub frame: u32,
    /// Rank.
    pub rank: u32,
    /// Thread.
    pub thread: u32,
    /// What people read.
    pub name: String,
    /// Own seconds.
    pub seconds: f64,
    /// Waiting in it.
    pub wait_seconds: f64,
    /// Whether it is the place itself.
    pub is_place: bool,
    /// Step of the cause's path that it is part of.
    pub step: Option<u32>,
}

/// What joins two vertices, in the direction of time.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NearEdge {
    /// Index of the earlier vertex.
    pub from: u32,
    /// Index of the later one.
    pub to: u32,
    /// Kind of edge in the parallel view.
    pub kind: String,
    /// How often.
    pub count: Option<f64>,
    /// Bytes.
    pub bytes: Option<f64>,
    /// What the later end waited.
    pub wait_seconds: Option<f64>,
    /// Whether a flow goes back in a loop.
    pub back: bool,
}

/// A dataflow of passes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Flow {
    /// Its name.
    pub name: String,
    /// Inputs and passes.
    pub nodes: Vec<FlowNode>,
    /// Which returns to which.
    pub edges: Vec<FlowEdge>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// An input.
    Input,
    /// A pass.
    Pass,
}

/// An input or a pass.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowNode {
    /// Its name.
    pub name: String,
    /// What the pass does; empty for an input.
    pub about: String,
    /// What it is.
    pub kind: NodeKind,
    /// Parameters in words.
    pub parameters: String,
    /// What it returned, in words; `None` where unknown.
    pub returned: Option<String>,
    /// Layer from the top.
    pub step: u32,
}

/// The result of a node goes into another.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowEdge {
    /// From.
    pub from: u32,
    /// To.
    pub to: u32,
}
