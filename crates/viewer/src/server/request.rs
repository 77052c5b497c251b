//! A request: what it asks for, after everything that refuses it.

use headwater_model::RankSet;
use std::ops::Range;

/// Headers of a request at the most.
const HEADERS: usize = 64;

/// Why a request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// It is no request.
    Malformed,
    /// Its method changes something, or is unknown.
    Method,
    /// It names another host.
    Host,
    /// It comes from a page of another origin.
    Origin,
    /// It does not have the token.
    Token,
}

impl Refused {
    /// The status code.
    pub fn code(self) -> u16 {
        match self {
            Self::Malformed => 400,
            Self::Method => 405,
            Self::Host | Self::Origin | Self::Token => 403,
        }
    }

    /// The reason in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Malformed => "the request is malformed",
            Self::Method => "only GET and HEAD are answered",
            Self::Host => "the request names another host",
            Self::Origin => "the request comes from another origin",
            Self::Token => {
                "the token is missing or wrong; use the address that headwater view printed"
            }
        }
    }
}

/// A request that is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Path without the query.
    pub path: String,
    /// Names and values of the query, decoded.
    pub query: Vec<(String, String)>,
    /// Whether only the head of the answer is wanted.
    pub is_head: bool,
}

/// Whether two secrets are equal, in a time that does not depend on where they differ.
fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0u8, |d, (a, b)| d | (a ^ b));
    a.len() == b.len() && differ == 0
}

/// Text of a query: `%41` is a character, `+` is a space.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let code = bytes
            .get(at + 1..at + 3)
            .filter(|_| byte == b'%')
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        match code {
            Some(code) => {
                out.push(code);
                at += 3;
            }
            None => {
                out.push(if byte == b'+' { b' ' } else { byte });
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

impl Request {
    /// Parses the head of a request to the server at `port` whose secret is `token`.
    ///
    /// # Errors
    /// Whatever is wrong with it first.
    pub fn parse(head: &[u8], port: u16, token: &str) -> Result<Self, Refused> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut parsed = httparse::Request::new(&mut headers);
        let whole = parsed.parse(head).is_ok_and(|s| s.is_complete());
        let (Some(method), Some(target), true) = (parsed.method, parsed.path, whole) else {
            return Err(Refused::Malformed);
        };
        if !matches!(method, "GET" | "HEAD") {
            return Err(Refused::Method);
        }
        // A header that occurs twice could mean one thing here and another one to the browser.
        let header = |name: &str| -> Result<Option<&str>, Refused> {
            let mut all = parsed
                .headers
                .iter()
                .filter(|h| h.name.eq_ignore_ascii_case(name));
            let first = all.next().map(|h| std::str::from_utf8(h.value));
            let first = first.transpose().map_err(|_| Refused::Malformed)?;
            match all.next() {
                Some(_) => Err(Refused::Malformed),
                None => Ok(first),
            }
        };
        let hosts = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let host = header("host")?;
        if !host.is_some_and(|h| hosts.iter().any(|own| own == h)) {
            return Err(Refused::Host);
        }
        let own = |origin: &str| {
            let rest = origin.strip_prefix("http://");
            rest.is_some_and(|rest| hosts.iter().any(|own| own == rest))
        };
        if !header("origin")?.is_none_or(own) {
            return Err(Refused::Origin);
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let pairs = query.split('&').filter(|p| !p.is_empty());
        let pair = |p: &str| {
            let (name, value) = p.split_once('=').unwrap_or((p, ""));
            (decoded(name), decoded(value))
        };
        let request = Self {
            path: path.to_string(),
            query: pairs.map(pair).collect(),
            is_head: method == "HEAD",
        };
        // The page itself is opened by its address; everything else is requested by the page.
        let given = match request.path.as_str() {
            "/" => request.value("token"),
            _ => header(super::TOKEN)?,
        };
        match given.is_some_and(|given| same(given, token)) {
            true => Ok(request),
            false => Err(Refused::Token),
        }
    }

    /// A value of the query.
    pub fn value(&self, name: &str) -> Option<&str> {
        let pair = self.query.iter().find(|(n, _)| n == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// A number of the query.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.value(name)?.parse().ok()
    }

    /// A number of the query between 1 and `most`, or `usual`.
    pub fn amount(&self, name: &str, usual: usize, most: usize) -> usize {
        let said = self.number(name).map(|n| n as usize);
        said.unwrap_or(usual).clamp(1, most)
    }

    /// Consecutive ranks, from the first to the last of a set; all of `n` where nothing is said.
    pub fn ranks(&self, name: &str, n: u32) -> Range<u32> {
        let set: Option<RankSet> = self.value(name).and_then(|text| text.parse().ok());
        let ends = set.and_then(|s| Some((*s.as_slice().first()?, *s.as_slice().last()?)));
        match ends {
            Some((first, last)) if first < n => first..last.saturating_add(1).min(n),
            _ => 0..n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "0123456789abcdef";

    fn parse(lines: &str) -> Result<Request, Refused> {
        let head = lines.replace('\n', "\r\n") + "\r\n";
        Request::parse(head.as_bytes(), 8123, TOKEN)
    }

    #[test]
    fn the_page_needs_its_address() {
        let page = "GET /?token=0123456789abcdef HTTP/1.1\nHost: 127.0.0.1:8123\n";
        assert_eq!(parse(page).map(|r| r.path), Ok("/".to_string()));
        for wrong in [
            "0123456789abcdeF",
            "0123456789abcde",
            "",
            "0123456789abcdef0",
        ] {
            let other = page.replace(TOKEN, wrong);
            assert_eq!(parse(&other), Err(Refused::Token), "{wrong}");
        }
    }

    #[test]
    fn a_tile_needs_the_header() {
        let tile = "GET /tile/ranks?scale=1&metric=a%2Bb+c HTTP/1.1\nHost: localhost:8123\nX-Headwater-Token: 0123456789abcdef\n";
        let request = parse(tile).expect("a request");
        assert_eq!(request.number("scale"), Some(1));
        assert_eq!(request.value("metric"), Some("a+b c"));
        let query = "GET /tile/ranks?token=0123456789abcdef HTTP/1.1\nHost: localhost:8123\n";
        assert_eq!(parse(query), Err(Refused::Token));
    }

    #[test]
    fn other_hosts_and_origins_are_refused() {
        let ask = |more: &str| parse(&format!("GET /?token={TOKEN} HTTP/1.1\n{more}"));
        for host in [
            "evil.example",
            "evil.example:8123",
            "127.0.0.1",
            "127.0.0.1:8124",
            "127.0.0.1:8123.evil.example",
        ] {
            assert_eq!(
                ask(&format!("Host: {host}\n")),
                Err(Refused::Host),
                "{host}"
            );
        }
        assert_eq!(ask(""), Err(Refused::Host));
        let own = "Host: 127.0.0.1:8123\n";
        for origin in [
            "http://evil.example",
            "null",
            "https://127.0.0.1:8123",
            "http://127.0.0.1:80",
            "file://",
        ] {
            let more = format!("{own}Origin: {origin}\n");
            assert_eq!(ask(&more), Err(Refused::Origin), "{origin}");
        }
        assert!(ask(&format!("{own}Origin: http://127.0.0.1:8123\n")).is_ok());
        // Twice the same header.
        assert_eq!(ask(&format!("{own}{own}")), Err(Refused::Malformed));
    }

    #[test]
    fn what_is_no_reading_request_is_refused() {
        let post = "POST / HTTP/1.1\nHost: 127.0.0.1:8123\n";
        assert_eq!(parse(post), Err(Refused::Method));
        for bytes in [
            &b""[..],
            b"\0\xff\xfe",
            b"GET / HTTP/1.1\r\nHost: 127.0.0.1:8123\r\n",
        ] {
            assert_eq!(Request::parse(bytes, 8123, TOKEN), Err(Refused::Malformed));
        }
    }

    #[test]
    fn ranks_stay_inside_the_run() {
        let with = |ranks: &str| Request {
            path: "/".to_string(),
            query: vec![("ranks".to_string(), ranks.to_string())],
            is_head: false,
        };
        assert_eq!(with("2-5").ranks("ranks", 16), 2..6);
        assert_eq!(with("2-500").ranks("ranks", 16), 2..16);
        for all in ["", "x", "99-100", "5-2"] {
            assert_eq!(with(all).ranks("ranks", 16), 0..16, "{all}");
        }
    }
}
