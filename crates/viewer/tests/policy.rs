//! The built front end's content security policy allows its one script and its one style, and nothing else.

use sha2::{Digest, Sha256};

const FRONT: &str = include_str!("../dist/index.html");

/// Base 64, as policies have it.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for part in bytes.chunks(3) {
        let all = [0, 1, 2].map(|i| u32::from(part.get(i).copied().unwrap_or(0)));
        let bits = all[0] << 16 | all[1] << 8 | all[2];
        for i in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= part.len() { digit as char } else { '=' });
        }
    }
    out
}

/// The contents of all elements of a name, without blocks of data.
fn contents(name: &str) -> Vec<&'static str> {
    let (begin, end) = (format!("<{name}"), format!("</{name}>"));
    let mut out = Vec::new();
    let mut rest = FRONT;
    while let Some((_, after)) = rest.split_once(begin.as_str()) {
        let (attributes, after) = after.split_once('>').expect("an element");
        let (text, after) = after.split_once(end.as_str()).expect("its end");
        if !attributes.contains("application/json") {
            assert!(
                !attributes.contains("src="),
                "{name} is loaded from elsewhere"
            );
            out.push(text);
        }
        rest = after;
    }
    out
}

fn policy() -> Vec<(&'static str, &'static str)> {
    let begin = "http-equiv=\"Content-Security-Policy\" content=\"";
    let (_, rest) = FRONT.split_once(begin).expect("a policy");
    let (policy, _) = rest.split_once('"').expect("its end");
    let words = policy.split(';').map(str::trim);
    words
        .map(|d| d.split_once(' ').unwrap_or((d, "")))
        .collect()
}

#[test]
fn the_policy_has_the_hashes_of_the_script_and_the_style() {
    assert_eq!(base64(b"fo"), "Zm8=");
    assert_eq!(base64(b"foob"), "Zm9vYg==");
    let hash = |text: &str| format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())));
    let policy = policy();
    let of = |name: &str| policy.iter().find(|p| p.0 == name).map(|p| p.1);
    for (element, directive) in [("script", "script-src"), ("style", "style-src")] {
        let all: Vec<String> = contents(element).into_iter().map(hash).collect();
        assert_eq!(all.len(), 1, "one {element}");
        assert_eq!(of(directive), Some(all[0].as_str()));
    }
    assert_eq!(of("default-src"), Some("'none'"));
    assert_eq!(of("base-uri"), Some("'none'"));
    assert_eq!(of("form-action"), Some("'none'"));
    let all = policy.iter().map(|p| p.1).collect::<String>();
    assert!(!all.contains("unsafe") && !all.contains("http") && !all.contains('*'));
}

#[test]
fn nothing_runs_from_an_attribute() {
    let (head, _) = FRONT.split_once("<script").expect("a script");
    for event in [" onload=", " onerror=", " onclick=", "javascript:"] {
        assert!(!head.contains(event), "{event}");
    }
}
