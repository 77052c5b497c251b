//! What the server answers: the page, a tile as JSON, or why there is none.

use super::Lines;
use super::request::Request;
use crate::document::escaped;
use crate::make::{Extent, Subject};
use crate::model::timeline::TimeAxis;
use serde::Serialize;
use std::borrow::Cow;

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// An answer.
#[derive(Debug)]
pub struct Answer<'a> {
    /// Status code.
    pub code: u16,
    /// Type of the body.
    pub kind: &'static str,
    /// The body.
    pub body: Cow<'a, str>,
}

impl<'a> Answer<'a> {
    /// A sentence.
    pub fn plain(code: u16, words: &'static str) -> Self {
        Self {
            code,
            kind: TEXT,
            body: Cow::Borrowed(words),
        }
    }

    fn json(value: Option<impl Serialize>) -> Self {
        let text = value.and_then(|v| serde_json::to_string(&v).ok());
        match text {
            Some(text) => Self {
                code: 200,
                kind: JSON,
                body: Cow::Owned(escaped(&text)),
            },
            None => Self::plain(404, "there is no such part of these runs"),
        }
    }

    /// The status in words.
    pub fn reason(&self) -> &'static str {
        match self.code {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            _ => "Service Unavailable",
        }
    }
}

/// Answers a request that was not refused.
pub fn respond<'a>(
    request: &Request,
    subject: &Subject,
    source: Lines<'_>,
    page: &dyn Fn() -> &'a str,
) -> Answer<'a> {
    let scale = request.number("scale").unwrap_or(0) as usize;
    match request.path.as_str() {
        "/" => Answer {
            code: 200,
            kind: HTML,
            body: Cow::Borrowed(page()),
        },
        "/tile/timeline" => Answer::json(timeline(request, subject, scale)),
        "/tile/ranks" => Answer::json(ranks(request, subject, scale)),
        "/tile/matrix" => Answer::json(matrix(request, subject, scale)),
        "/tile/source" => {
            let frame = request.number("frame").and_then(|f| u32::try_from(f).ok());
            Answer::json(frame.and_then(|frame| subject.source(frame, source)))
        }
        "/tile/graph" => {
            let frame = request.number("frame").and_then(|f| u32::try_from(f).ok());
            Answer::json(frame.and_then(|frame| subject.neighbourhood(scale, frame)))
        }
        _ => Answer::plain(404, "there is no such page"),
    }
}

fn timeline(request: &Request, subject: &Subject, scale: usize) -> Option<impl Serialize + use<>> {
    let windows = subject.windows(scale)?;
    let n = subject.runs().get(scale)?.run().header.ranks;
    let clock = match request.value("clock") {
        Some("virtual") => TimeAxis::Virtual,
        _ => TimeAxis::Wall,
    };
    let number = request.number("window").unwrap_or(0);
    let number = u32::try_from(number).ok()?;
    let from = request.number("from_ns").unwrap_or(0);
    let to = request
        .number("to_ns")
        .unwrap_or(u64::MAX)
        .max(from.saturating_add(1));
    let ranks = request.ranks("ranks", n);
    let extent = Extent {
        time: from..to,
        ranks: (ranks != (0..n)).then(|| ranks.collect()),
        rows: request.amount("rows", 256, 4_096),
        slices: request.amount("slices", 20_000, 100_000),
        columns: request.amount("columns", 400, 4_096),
    };
    windows.tile(subject, (scale as u32, number, clock), &extent)
}

fn ranks(request: &Request, subject: &Subject, scale: usize) -> Option<impl Serialize + use<>> {
    let n = subject.runs().get(scale)?.run().header.ranks;
    let metric = request.value("metric").unwrap_or("time");
    let columns = request.amount("columns", 256, 4_096);
    subject.rank_tile(scale, metric, request.ranks("ranks", n), columns)
}

fn matrix(request: &Request, subject: &Subject, scale: usize) -> Option<impl Serialize + use<>> {
    let n = subject.runs().get(scale)?.run().header.ranks;
    let (from, to) = (request.ranks("from", n), request.ranks("to", n));
    subject.matrix(scale, from, to, request.amount("bins", 256, 1_024))
}
