//! The server of `headwater view`: one page and its tiles, for one person on this machine.
//!
//! It listens on 127.0.0.1 alone. Whoever wants the page must know the token of its address, and a tile needs the token in a
//! header, which no other site can send. A request that names another host (DNS rebinding) or comes from another origin is
//! refused. It only reads: there are no methods but GET and HEAD, and nothing that a request says reaches a file name.
//!
//! This is HTTP/1.1 with one request for each connection. The head is parsed by `httparse`; frameworks for servers would make
//! the command several megabytes larger for these few addresses (docs/VIEWER.md).

mod answer;
mod request;

pub use request::{Refused, Request};

use crate::make::Subject;
use crate::model::Live;
use answer::{Answer, respond};
use headwater_report::SourceLines;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a request's head at the most.
const HEAD: usize = 16 * 1024;

/// Connections that are answered at the same time.
const MOST: usize = 32;

/// How long a client may take to send its request, or to take the answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Header of the token.
pub const TOKEN: &str = "x-headwater-token";

/// Whoever gives source lines to several threads.
pub type Lines<'a> = &'a (dyn SourceLines + Sync);

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    at: SocketAddr,
    token: String,
}

impl Server {
    /// Listens on `port` of 127.0.0.1, or on any free one. `token` must be a secret.
    ///
    /// # Errors
    /// What the system says; a port that is taken.
    pub fn bind(port: Option<u16>, token: String) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))?;
        let at = listener.local_addr()?;
        Ok(Self {
            listener,
            at,
            token,
        })
    }

    /// The address of the page.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.at.port(), self.token)
    }

    /// Its port.
    pub fn port(&self) -> u16 {
        self.at.port()
    }

    /// Addresses of tiles.
    fn live(&self) -> Live {
        let at = |name: &str| format!("/tile/{name}");
        Live {
            timeline: at("timeline"),
            ranks: at("ranks"),
            matrix: at("matrix"),
            source: at("source"),
            graph: at("graph"),
            token: self.token.clone(),
        }
    }

    /// Answers requests until the listener fails.
    ///
    /// # Errors
    /// What the system says of the listener.
    pub fn serve(&self, subject: &Subject, source: Lines<'_>) -> io::Result<()> {
        let page = OnceLock::new();
        let busy = AtomicUsize::new(0);
        let make = || crate::document::live(subject, source, self.live());
        std::thread::scope(|scope| {
            // The page is made while the browser starts.
            scope.spawn(|| page.get_or_init(make));
            loop {
                let stream = match self.listener.accept() {
                    Ok((stream, _)) => stream,
                    // The client has gone.
                    Err(e) if is_passing(&e) => continue,
                    // There are no descriptors for a moment.
                    Err(e) if is_full(&e) => {
                        std::thread::sleep(Duration::from_millis(50));
                        continue;
                    }
                    Err(e) => return Err(e),
                };
                // One that is refused gets no answer: writing one would keep all others waiting.
                let Some(place) = Place::of(&busy) else {
                    continue;
                };
                let page = &page;
                scope.spawn(move || {
                    let _until_done = place;
                    let page = || page.get_or_init(make).as_str();
                    // A client that goes away is no error of the server.
                    let _ = self.answer(stream, subject, source, &page);
                });
            }
        })
    }

    fn answer<'p>(
        &self,
        mut stream: TcpStream,
        subject: &Subject,
        source: Lines<'_>,
        page: &dyn Fn() -> &'p str,
    ) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let head = read_head(&mut stream)?;
        let request = Request::parse(&head, self.at.port(), &self.token);
        match request {
            Ok(request) => {
                let body = !request.is_head;
                let answer = respond(&request, subject, source, page);
                send(stream, &answer, body)
            }
            Err(refused) => send(
                stream,
                &Answer::plain(refused.code(), refused.words()),
                true,
            ),
        }
    }
}

/// A request among those that are answered at the same time. It is given up also if its answer panics.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn of(busy: &'a AtomicUsize) -> Option<Self> {
        let place = Self(busy);
        (busy.fetch_add(1, Ordering::AcqRel) < MOST).then_some(place)
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Whether this process, or the system, has too many open files.
fn is_full(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(23 | 24))
}

fn is_passing(e: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted, WouldBlock};
    matches!(
        e.kind(),
        ConnectionAborted | ConnectionReset | Interrupted | WouldBlock
    )
}

/// The bytes of a request up to the empty line, or as many as there may be.
fn read_head(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    let mut part = [0u8; 2048];
    let begin = Instant::now();
    while head.len() < HEAD && !head.windows(4).any(|w| w == b"\r\n\r\n") {
        // A byte now and then must not keep a place for ever.
        let left = PATIENCE.saturating_sub(begin.elapsed());
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        let n = stream.read(&mut part)?;
        if n == 0 {
            break;
        }
        head.extend_from_slice(part.get(..n).unwrap_or(&[]));
    }
    Ok(head)
}

fn send(mut stream: TcpStream, answer: &Answer<'_>, body: bool) -> io::Result<()> {
    let head = format!(
        "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nContent-Security-Policy: frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\n\r\n",
        answer.code,
        answer.reason(),
        answer.kind,
        answer.body.len(),
    );
    stream.write_all(head.as_bytes())?;
    if body {
        stream.write_all(answer.body.as_bytes())?;
    }
    stream.flush()?;
    // What the client still sends must be read, or the system drops the answer with the connection.
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.set_read_timeout(Some(Duration::from_millis(200)))?;
    let mut rest = [0u8; 1024];
    for _ in 0..16 {
        if stream.read(&mut rest)? == 0 {
            break;
        }
    }
    Ok(())
}
