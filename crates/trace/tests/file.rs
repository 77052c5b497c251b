//! A trace that was written is read again as it was, and bytes that were changed are not read at all.
use headwater_trace::file::{Error, MAGIC, VERSION, framed, pack};
use headwater_trace::identity::text_identity;
use headwater_trace::likeness::Slack;
use headwater_trace::outliers::Outlier;
use headwater_trace::ranks::Ranks;
use headwater_trace::recorder::Recorder;
use headwater_trace::times::Delta;
use headwater_trace::trace::{Body, Event, Frame, Kind, Loss, Node, OpenCall, Trace};
use proptest::prelude::*;

#[derive(Clone, Debug)]
enum Piece {
    Call(u32, u8),
    Loop(u8, u8, Vec<Piece>),
    If(u8, u8, bool, Vec<Piece>),
}

fn piece() -> impl Strategy<Value = Piece> {
    let leaf = (0..10_u32, 0..8_u8).prop_map(|(s, p)| Piece::Call(s, p));
    leaf.prop_recursive(4, 24, 5, |inner| prop_oneof![
        3 => (0..10_u32, 0..8_u8).prop_map(|(s, p)| Piece::Call(s, p)),
        2 => (1..5_u8, 0..4_u8, prop::collection::vec(inner.clone(), 1..5)).prop_map(|(n, v, b)| Piece::Loop(n, v, b)),
        1 => (2..4_u8, 0..3_u8, any::<bool>(), prop::collection::vec(inner, 1..4)).prop_map(|(m, r, k, b)| Piece::If(m, r, k, b)),
    ])
}

/// Records what a program does on one rank.
struct Rank {
    rank: i64,
    size: i64,
    recorder: Recorder,
    noise: u64,
    left: u32,
}

impl Rank {
    fn random(&mut self) -> u64 {
        self.noise = self
            .noise
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        self.noise >> 33
    }

    fn call(&mut self, s: u32, p: u8, i: i64) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        let (rank, size) = (self.rank, self.size);
        let value = match p {
            0 => 0,
            1 => (rank + 1) % size,
            2 => rank ^ 1,
            3 => i % size,
            4 => (rank + i) % size,
            5 => -1,
            6 => (self.random() % 1000) as i64,
            _ => (rank * i) % 5,
        };
        let frame = |offset| Frame {
            module: text_identity(b"/bin/program") as u64,
            offset,
        };
        let frames = [
            frame(0x1100),
            Frame {
                module: 77,
                offset: 5,
            },
            frame(0x2000 + u64::from(s) * 16),
        ];
        let kinds = [Kind::Peer, Kind::Comm, Kind::Plain, Kind::List, Kind::Text];
        let kinds = if s < 8 { &kinds[..3] } else { &kinds };
        let function = if s < 5 {
            "MPI_Send".to_owned()
        } else {
            format!("MPI_F{s}")
        };
        let n = self
            .recorder
            .signature(&function, kinds, &frames[..if s == 2 { 0 } else { 3 }]);
        let counts: Vec<i64> = (0..size).map(|j| (rank + j + i) % 4 * 100).collect();
        let mut sum = 0;
        let sums: Vec<i64> = counts
            .iter()
            .map(|n| {
                sum += n;
                sum - n
            })
            .collect();
        let list = self.recorder.list(if i % 2 == 0 { &counts } else { &sums });
        let text = self.recorder.text(format!("file{}", rank % 2).as_bytes());
        let wall = 100 + (self.random() % 50) * self.random() % 100_000;
        let delta = Delta {
            wall,
            cpu: if s == 1 { wall } else { wall * 9 / 10 },
            call: self.random() % 20,
        };
        self.recorder.event(
            n,
            &[value, 0, 8 + i64::from(s), list, text][..kinds.len()],
            delta,
        );
    }

    fn run(&mut self, program: &[Piece], i: i64) {
        for p in program {
            match p {
                Piece::Call(s, k) => self.call(*s, *k, i),
                Piece::Loop(n, varies, body) => {
                    let more = match varies {
                        0 => 0,
                        1 => i % 3,
                        2 => self.rank % 2,
                        _ => (self.rank + i) % 3,
                    };
                    for j in 0..i64::from(*n) + more {
                        self.run(body, j);
                    }
                }
                Piece::If(m, r, by_rank, body) => {
                    let by = if *by_rank { self.rank } else { i };
                    if by % i64::from(*m) == i64::from(*r) {
                        self.run(body, i);
                    }
                }
            }
        }
    }
}

fn trace_of(program: &[Piece], steps: i64, size: u32) -> Trace {
    let mut traces: Vec<Trace> = (0..size)
        .map(|r| {
            let recorder = Recorder::new(usize::MAX, Slack::default());
            let mut rank = Rank {
                rank: i64::from(r),
                size: i64::from(size),
                recorder,
                noise: u64::from(r),
                left: 3000,
            };
            (0..steps).for_each(|i| rank.run(program, i));
            let mut trace = Trace::of_rank(r, size);
            trace.add_communicator(0, r, r, size);
            trace.add_communicator(0x1234_5678_9abc, r, r / 2, size.div_ceil(2));
            trace.modules.insert(
                text_identity(b"/bin/program") as u64,
                "/bin/program".to_owned(),
            );
            trace.modules.insert(77, "libc.so.6".to_owned());
            rank.recorder.finish(&mut trace, r, 0);
            if r == 1 {
                trace.losses.push(Loss {
                    rank: 1,
                    thread: 0,
                    kept: 3000,
                    lost: 12,
                });
                let first = trace.signatures.iter().next();
                trace.open.extend(first.map(|(signature, known)| OpenCall {
                    rank: 1,
                    thread: 0,
                    signature: *signature,
                    values: (-3..).take(known.kinds.len()).collect(),
                    before: Some(3000),
                }));
            }
            // Two ranks have the same.
            let outlier = |event| Outlier {
                event: event * u64::from(r % 3) + event,
                nanoseconds: 96_u64 << event,
            };
            let outliers = (0..5).map(outlier).collect();
            trace.outliers = [(0, vec![(outliers, Ranks::one(r))])].into();
            trace
        })
        .collect();
    while traces.len() > 1 {
        let mut pairs = std::mem::take(&mut traces).into_iter();
        while let Some(mut a) = pairs.next() {
            if let Some(b) = pairs.next() {
                a.merge(b);
            }
            traces.push(a);
        }
    }
    traces.pop().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]
    #[test]
    fn what_was_written_is_read(program in prop::collection::vec(piece(), 1..5), steps in 1..12_i64, size in 1..9_u32) {
        let trace = trace_of(&program, steps, size);
        let plain = trace.to_bytes();
        prop_assert_eq!(&Trace::from_bytes(&plain).unwrap(), &trace);
        let packed = trace.to_packed_bytes();
        prop_assert_eq!(&Trace::from_bytes(&packed).unwrap(), &trace);
        prop_assert_eq!(pack(&plain).unwrap(), packed.clone());
        prop_assert_eq!(pack(&packed).unwrap(), packed);
    }

    #[test]
    fn what_was_changed_is_an_error(program in prop::collection::vec(piece(), 1..5), steps in 1..6_i64, size in 1..5_u32, at in any::<prop::sample::Index>(), bit in 0..8_u32, is_packed in any::<bool>()) {
        let trace = trace_of(&program, steps, size);
        let mut bytes = if is_packed { trace.to_packed_bytes() } else { trace.to_bytes() };
        let at = at.index(bytes.len());
        let short = Trace::from_bytes(&bytes[..at]);
        prop_assert!(matches!(short, Err(Error::Short { .. } | Error::NotATrace)), "{:?}", short);
        bytes.push(0);
        prop_assert!(Trace::from_bytes(&bytes).is_err());
        bytes.pop();
        bytes[at] ^= 1 << bit;
        prop_assert!(Trace::from_bytes(&bytes).is_err());
    }
}

/// Fields of the times in the packed form.
fn fields_of_times(trace: &Trace) -> Vec<String> {
    let all = trace.packed_costs().into_iter();
    let of_times = all.filter(|(part, ..)| *part == "times");
    of_times.map(|(_, field, _)| field).collect()
}

fn events(row: &mut [Node]) -> Vec<&mut Event> {
    let each = row.iter_mut().map(|node| match &mut node.body {
        Body::Event(event) => vec![&mut **event],
        Body::Loop(row) => events(row),
    });
    each.flatten().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// How often which event ran behind which one follows from the nodes: a file says it only where the times disagree.
    #[test]
    fn what_was_before_is_written_only_if_it_cannot_be_counted(program in prop::collection::vec(piece(), 1..5), steps in 1..12_i64, size in 1..9_u32, which in any::<prop::sample::Index>()) {
        let mut trace = trace_of(&program, steps, size);
        let is_before = |field: &String| field == "Before";
        prop_assert!(!fields_of_times(&trace).iter().any(is_before));
        let mut all = events(trace.streams.get_mut(&0).unwrap());
        all.retain(|event| event.times.len() > 1);
        if all.is_empty() {
            return Ok(());
        }
        let at = which.index(all.len());
        all[at].times.pop_first();
        prop_assert!(fields_of_times(&trace).iter().any(is_before));
        prop_assert_eq!(Trace::from_bytes(&trace.to_packed_bytes()).unwrap(), trace);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn a_malformed_body_is_an_error_or_a_trace(program in prop::collection::vec(piece(), 1..5), size in 1..5_u32, changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), is_packed in any::<bool>()) {
        let trace = trace_of(&program, 3, size);
        let bytes = if is_packed { trace.to_packed_bytes() } else { trace.to_bytes() };
        let head = if bytes.len() < 128 + 11 { 11 } else { 12 };
        let mut body = bytes[head..].to_vec();
        for (at, byte) in changes {
            let at = at.index(body.len());
            body[at] = byte;
        }
        if let Ok(read) = Trace::from_bytes(&framed(bytes[FORM], &body)) {
            prop_assert_eq!(&Trace::from_bytes(&read.to_bytes()).unwrap(), &read);
            prop_assert_eq!(&Trace::from_bytes(&read.to_packed_bytes()).unwrap(), &read);
            let _ = headwater_trace::text::show(&read, &headwater_trace::text::Numbers, None).to_string();
        }
    }
}

#[test]
fn an_empty_trace_is_one() {
    let trace = Trace::default();
    assert_eq!(Trace::from_bytes(&trace.to_bytes()), Ok(trace.clone()));
    assert_eq!(Trace::from_bytes(&trace.to_packed_bytes()), Ok(trace));
}

#[test]
fn each_error_says_what_is_wrong() {
    let bytes = Trace::default().to_bytes();
    let error = |bytes: &[u8]| Trace::from_bytes(bytes).unwrap_err().to_string();
    assert_eq!(error(b"PAR1 and more"), "this is not a trace");
    assert_eq!(error(b""), "this is not a trace");
    let mut newer = bytes.clone();
    newer[MAGIC.len()] = VERSION + 1;
    assert_eq!(
        error(&newer),
        "the trace has format 5, this Headwater reads format 4; use the one that wrote it"
    );
    assert_eq!(
        error(&bytes[..bytes.len() - 1]),
        format!(
            "the trace is cut short: {} of {} bytes; copy the file again",
            bytes.len() - 1,
            bytes.len()
        )
    );
    let mut damaged = bytes;
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(
        error(&damaged),
        "the trace is damaged: its checksum does not agree; copy the file again"
    );
}

/// Where a file has the form of its body.
const FORM: usize = MAGIC.len() + 1;

/// The fuzzer begins with a plain and a packed body, each behind its form. After a change of the layout: `HEADWATER_REMAKE=1`.
#[test]
fn the_seeds_of_the_fuzzer_are_bodies_of_this_version() {
    let program = [
        Piece::Call(0, 1),
        Piece::Loop(
            4,
            2,
            vec![
                Piece::Call(3, 2),
                Piece::Call(8, 4),
                Piece::If(2, 0, true, vec![Piece::Call(9, 6)]),
            ],
        ),
        Piece::Call(2, 7),
    ];
    let trace = trace_of(&program, 5, 4);
    let seeds = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/trace");
    for (name, bytes) in [
        ("0-plain", trace.to_bytes()),
        ("1-packed", trace.to_packed_bytes()),
    ] {
        let seed = seeds.join(name);
        if std::env::var_os("HEADWATER_REMAKE").is_some() {
            let body = &bytes[if bytes.len() < 128 + 11 { 11 } else { 12 }..];
            std::fs::create_dir_all(&seeds).unwrap();
            std::fs::write(&seed, [&bytes[FORM..=FORM], body].concat()).unwrap();
        }
        let kept = std::fs::read(&seed).unwrap();
        assert_eq!(
            Trace::from_bytes(&framed(kept[0], &kept[1..])),
            Ok(trace.clone()),
            "{name}"
        );
    }
}

#[test]
fn the_page_has_this_magic_and_version() {
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/TRACE.md");
    let page = std::fs::read_to_string(page).unwrap();
    let magic = std::str::from_utf8(&MAGIC).unwrap();
    assert!(page.starts_with(&format!("# The file of a trace (format {VERSION})\n")));
    assert!(page.contains(&format!("| 4 | magic: `{magic}` |")));
    assert!(page.contains(&format!("| 1 | version of the layout: {VERSION} |")));
}
