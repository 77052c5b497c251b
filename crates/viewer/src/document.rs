//! The page as one document: the built front end with the data and a readable text in it.
//!
//! The front end has two places that are filled in: a block of data, which browsers never run, and a text for browsers
//! without scripts. Its content security policy allows the one script and the one style that were built, by their hashes.
//! Everything from a recorded program is data or escaped text, so no other script can get in, and none would run.

use crate::make::{Amounts, Subject};
use crate::model::{Live, Page};
use headwater_model::printable::printable;
use headwater_report::{SourceLines, TextOptions, text};

/// The built front end.
const FRONT: &str = include_str!("../dist/index.html");

/// Where the data are filled in.
const DATA: (&str, &str) = (
    r#"<script type="application/json" id="headwater-data">"#,
    "</script>",
);

/// Where the text is filled in.
const TEXT: (&str, &str) = (r#"<pre id="headwater-text">"#, "</pre>");

/// What the policy says of connections: a file needs none.
const CONNECT: (&str, &str) = ("connect-src 'self'", "connect-src 'none'");

/// Bytes of a file's data; larger ones are thinned out.
pub const MOST: usize = 5_000_000;

/// Characters in a line of the text.
const WIDTH: usize = 100;

/// The data as JSON. No character in it can end the block that contains it, or its line: all of `<`, `>`, `&` and every
/// control or invisible character are escaped.
pub fn data(page: &Page) -> String {
    escaped(&serde_json::to_string(page).unwrap_or_else(|_| "null".to_string()))
}

/// JSON that can stand in a document. These characters are only within its strings.
pub fn escaped(json: &str) -> String {
    let json = printable(json);
    let mut out = String::with_capacity(json.len() + json.len() / 64);
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            c => out.push(c),
        }
    }
    out
}

/// Text that stands in a document as it is.
fn as_text(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

/// `page` with `content` between `ends`, in place of what is there.
fn filled(page: &str, ends: (&str, &str), content: &str) -> String {
    let Some((before, rest)) = page.split_once(ends.0) else {
        return page.to_string();
    };
    let Some((_, after)) = rest.split_once(ends.1) else {
        return page.to_string();
    };
    [before, ends.0, content, ends.1, after].concat()
}

/// The document of data and of a text, both without markup. With `connects`, it may request tiles from its own server.
fn document(data: &str, text: &str, connects: bool) -> String {
    let front = match connects {
        true => FRONT.to_string(),
        false => FRONT.replacen(CONNECT.0, CONNECT.1, 1),
    };
    // The text first: the data come later in the document, and could contain what is looked for.
    let with_text = filled(&front, TEXT, &as_text(text));
    filled(&with_text, DATA, data)
}

/// The text report of a diagnosis, without colour.
fn plain(subject: &Subject, source: &dyn SourceLines) -> String {
    let options = TextOptions {
        color: false,
        width: WIDTH,
        top: 3,
        source,
    };
    text(&subject.diagnosed().diagnosis, &options)
}

/// One file that contains everything, of which at most `most` bytes are data; larger runs are thinned out, which the page
/// says.
pub fn file(subject: &mut Subject, source: &dyn SourceLines, most: usize) -> String {
    let mut amounts = Amounts::USUAL;
    let mut page = subject.page(source, amounts);
    let mut json = data(&page);
    for _ in 0..6 {
        if json.len() <= most {
            break;
        }
        amounts = amounts.fewer();
        subject.thin(amounts);
        page = subject.page(source, amounts);
        without_single_ranks(&mut page, amounts.ranks);
        page.thinned.push(format!(
            "This file has fewer ranks, events, places and table rows than were recorded, so that it stays near {} MB. headwater view shows all of them.",
            (most as f64 / 1e6).round().max(1.0)
        ));
        json = data(&page);
    }
    document(&json, &plain(subject, source), false)
}

/// Leaves the values of single ranks out of causes with more than `most`: their groups of like ranks remain.
fn without_single_ranks(page: &mut Page, most: usize) {
    let other = page
        .diagnosis
        .other_reading
        .iter_mut()
        .flat_map(|r| &mut r.causes);
    let mut left_out = false;
    for cause in page.diagnosis.causes.iter_mut().chain(other) {
        if cause.by_rank.len() > most {
            cause.by_rank = Vec::new();
            left_out = true;
        }
    }
    for detail in &mut page.causes {
        let values = detail.by_rank.values.take();
        detail.by_rank.values = values.filter(|v| v.len() <= most);
    }
    if left_out {
        let note = "The values of single ranks are left out of the causes; headwater diagnose --json has them.";
        page.thinned.push(note.to_string());
    }
}

/// The document that `headwater view` serves.
pub fn live(subject: &Subject, source: &dyn SourceLines, live: Live) -> String {
    let mut page = subject.page(source, Amounts::LIVE);
    page.live = Some(live);
    document(&data(&page), &plain(subject, source), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_ends_the_data() {
        let hostile = "</script><!--<script>alert(1)</script>\u{2028}\u{2029}\u{1b}]0;x\u{7}&amp;";
        let json = escaped(&serde_json::to_string(hostile).expect("JSON"));
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}', '\u{1b}']));
        let back: String = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back, hostile);
        let page = document(&json, "</pre><script>alert(1)</script>", false);
        assert_eq!(page.matches("alert(1)").count(), 2);
        assert!(!page.contains("<script>alert"));
        assert!(page.contains("&lt;/pre&gt;&lt;script&gt;alert(1)"));
        assert!(page.contains(CONNECT.1) && !page.contains(CONNECT.0));
    }

    #[test]
    fn the_front_end_has_both_places_once() {
        for ends in [DATA, TEXT] {
            assert_eq!(FRONT.matches(ends.0).count(), 1, "{}", ends.0);
        }
        assert!(FRONT.contains(CONNECT.0));
    }
}
