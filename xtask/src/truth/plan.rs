//! What is to be planted, drawn from a seed alone: the same seed and recipes result in the same plan on any machine.
//!
//! Nothing here looks at a program. The plan says what is wanted (class, ranks, kind of place, dose); the first
//! statement of a clean run that suits it is found later, with random numbers of the case's own.

use serde::{Deserialize, Serialize};

/// Small generator (SplitMix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// From a seed and a stream, so that cases do not depend on each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut mixed = Self(seed ^ stream.wrapping_mul(0xD605_BBB5_8C8A_BBAF));
        mixed.next();
        Self(mixed.next())
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to 1, 1 excluded.
    pub fn unit(&mut self) -> f64 {
        // 53 bits fit a double exactly.
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        let scaled = self.unit() * n as f64;
        (scaled as usize).min(n.saturating_sub(1))
    }

    /// One of the items by their weights; `None` where all are 0.
    pub fn weighted<'a, T>(&mut self, items: &'a [(T, f64)]) -> Option<&'a T> {
        let total: f64 = items.iter().map(|i| i.1).sum();
        let mut at = self.unit() * total;
        let mut last = None;
        for (item, weight) in items.iter().filter(|i| i.1 > 0.0) {
            last = Some(item);
            if at < *weight {
                break;
            }
            at -= weight;
        }
        last
    }
}

/// What is planted.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Ord, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum What {
    /// Nothing: a control.
    Control,
    /// More work on some ranks.
    Uneven,
    /// Work that more ranks do not make less.
    NonShrinking,
    /// Sleep.
    Sleep,
    /// Writing a file and waiting for the device.
    Io,
    /// A message whose size grows with the ranks.
    Message,
    /// Ranks that work one after the other.
    Chain,
    /// Work that happens once on one rank.
    Once,
    /// More work on one thread.
    Thread,
    /// Work under a lock.
    Lock,
    /// Work before the threads of a loop start.
    Serial,
}

impl What {
    /// The class that a diagnosis should report; `None` for a control.
    pub fn class(self) -> Option<&'static str> {
        Some(match self {
            Self::Control => return None,
            Self::Uneven => "uneven-work",
            Self::NonShrinking => "non-shrinking-work",
            Self::Sleep | Self::Io => "system-call-or-io",
            Self::Message => "growing-communication",
            Self::Chain => "late-sender-chain",
            Self::Once => "one-off",
            Self::Thread => "thread-imbalance",
            Self::Lock => "lock-contention",
            Self::Serial => "serial-region",
        })
    }

    /// Whether the time that it costs is in MPI itself.
    pub fn is_communication(self) -> bool {
        matches!(self, Self::Message)
    }

    /// Whether it adds MPI calls.
    pub fn adds_calls(self) -> bool {
        matches!(self, Self::Message | Self::Chain)
    }

    /// Whether it is between the threads of a rank.
    pub fn is_of_threads(self) -> bool {
        matches!(self, Self::Thread | Self::Lock | Self::Serial)
    }
}

/// Which ranks.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Who {
    /// One, at this part of the range of ranks.
    One(f64),
    /// First and last.
    Border,
    /// Every fourth.
    Fourth,
    /// The lower half.
    Half,
    /// More and more from the first to the last.
    Gradient,
    /// One after the other, a new one at each execution.
    Turns,
    /// All.
    All,
}

impl Who {
    /// How much of the dose a rank gets, 0 to 1; of `Turns` the share in its own turn.
    pub fn share(self, rank: u32, ranks: u32) -> f64 {
        let chosen = match self {
            Self::One(at) => rank == Self::one(at, ranks),
            Self::Border => rank == 0 || rank + 1 == ranks,
            Self::Fourth => rank.is_multiple_of(4),
            Self::Half => 2 * rank < ranks,
            Self::Gradient => return f64::from(rank) / f64::from(ranks.saturating_sub(1).max(1)),
            Self::Turns | Self::All => true,
        };
        f64::from(u8::from(chosen))
    }

    /// The rank at a part of the range.
    pub fn one(at: f64, ranks: u32) -> u32 {
        ((at * f64::from(ranks)) as u32).min(ranks.saturating_sub(1))
    }

    /// The ranks that a diagnosis should name: those with more than the mean of all.
    pub fn concerned(self, ranks: u32) -> Vec<u32> {
        let share = |r: u32| self.share(r, ranks);
        let mean = (0..ranks).map(share).sum::<f64>() / f64::from(ranks.max(1));
        let above = |r: &u32| share(*r) > mean || (share(*r) >= mean && mean > 0.0);
        (0..ranks).filter(above).collect()
    }

    /// As the planted code reads it: a number, and the part of the range.
    pub fn code(self) -> (u32, f64) {
        match self {
            Self::All => (0, 0.0),
            Self::One(at) => (1, at),
            Self::Border => (2, 0.0),
            Self::Fourth => (3, 0.0),
            Self::Half => (4, 0.0),
            Self::Gradient => (5, 0.0),
            Self::Turns => (6, 0.0),
        }
    }
}

/// Kind of place that is wanted; another is taken where a code has none.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Where {
    /// In functions with much of the executed work.
    Hot,
    /// In functions with some of it.
    Warm,
    /// In functions with hardly any.
    Cold,
    /// In a loop within loops.
    Deep,
    /// In a function that is inlined.
    Inlined,
    /// In a function that several statements call.
    SeveralPaths,
    /// In a template.
    Template,
}

/// What a code offers, as far as the plan must know.
#[derive(Clone, Debug)]
pub struct Offer {
    /// Name of the code.
    pub name: String,
    /// Whether its ranks have several threads.
    pub threads: bool,
    /// Whether it has ranks at all.
    pub mpi: bool,
    /// Whether anything can be planted; Python has no statements that the planter knows.
    pub plants: bool,
    /// Whether messages can be planted: the source is C or C++.
    pub messages: bool,
    /// Whether it has templates.
    pub templates: bool,
}

/// One case as it is wanted.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Wish {
    /// Number of the case, from 0.
    pub number: u64,
    /// Code.
    pub code: String,
    /// What is planted.
    pub what: What,
    /// On which ranks.
    pub who: Who,
    /// In what kind of place.
    pub place: Where,
    /// Share of the run time that it shall cost, 0.01 to 0.3.
    pub dose: f64,
    /// Whether the code's own work is repeated where that is possible.
    pub own_work: bool,
    /// Whether the tool is given how the problem scales.
    pub scaling_given: bool,
    /// Start of the random numbers that choose the statement.
    pub stream: u64,
}

/// Smallest and largest dose, shares of the run time.
pub const DOSES: (f64, f64) = (0.01, 0.30);

/// One of each so many cases is a control.
const CONTROLS: u64 = 4;

/// Draws the plan. Codes take turns in an order of the seed's, so that each is used alike.
pub fn plan(seed: u64, cases: u64, offers: &[Offer]) -> Vec<Wish> {
    (0..cases)
        .filter_map(|number| wish(seed, number, cases, offers))
        .collect()
}

fn wish(seed: u64, number: u64, cases: u64, offers: &[Offer]) -> Option<Wish> {
    let mut random = Random::new(seed, number + 1);
    let offer = turn(seed, number, offers)?;
    let what = if is_control(seed, number, cases, offers) || !offer.plants {
        What::Control
    } else {
        draw_what(&mut random, offer)
    };
    let at = random.unit();
    let who = match offer.mpi {
        true => draw_who(&mut random, what, at),
        false => Who::All,
    };
    let places = [
        (Where::Hot, 3.0),
        (Where::Warm, 2.0),
        (Where::Cold, 1.0),
        (Where::Deep, 2.0),
        (Where::Inlined, 1.0),
        (Where::SeveralPaths, 2.0),
        (Where::Template, f64::from(u8::from(offer.templates)) * 2.0),
    ];
    let (least, most) = DOSES;
    Some(Wish {
        number,
        code: offer.name.clone(),
        what,
        who,
        place: *random.weighted(&places)?,
        dose: least * (most / least).powf(random.unit()),
        own_work: random.unit() < 0.8,
        scaling_given: random.unit() < 0.5,
        stream: random.next(),
    })
}

/// Whether a case is its block's control: a case of a code in which nothing can be planted, or the one that is drawn.
fn is_control(seed: u64, number: u64, cases: u64, offers: &[Offer]) -> bool {
    let block = number / CONTROLS;
    let first = block * CONTROLS;
    let within = (cases - first).min(CONTROLS);
    let bare = |n: &u64| turn(seed, *n, offers).is_some_and(|o| !o.plants);
    let drawn = || first + Random::new(seed ^ 0xC0, block).below(within as usize) as u64;
    (first..first + within).find(bare).unwrap_or_else(drawn) == number
}

/// The code whose turn it is: a new order for each round over all codes.
fn turn(seed: u64, number: u64, offers: &[Offer]) -> Option<&Offer> {
    let count = offers.len() as u64;
    let round = number.checked_div(count)?;
    let mut random = Random::new(seed ^ 0x0DE5, round);
    let mut order: Vec<usize> = (0..offers.len()).collect();
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i + 1));
    }
    offers.get(*order.get((number % count) as usize)?)
}

fn draw_what(random: &mut Random, offer: &Offer) -> What {
    let if_so = |yes: bool, weight: f64| if yes { weight } else { 0.0 };
    let of_ranks = |weight| if_so(offer.mpi, weight);
    let kinds = [
        (What::Uneven, of_ranks(8.0)),
        // What the first thread does alone is a serial region.
        (What::NonShrinking, of_ranks(2.0)),
        (What::Sleep, 1.5),
        (What::Io, 1.0),
        (What::Once, of_ranks(1.5)),
        (What::Message, if_so(offer.messages && offer.mpi, 1.5)),
        (What::Chain, if_so(offer.messages && offer.mpi, 1.5)),
        (What::Thread, if_so(offer.threads, 5.0)),
        (What::Lock, if_so(offer.threads, 5.0)),
        (What::Serial, if_so(offer.threads, 5.0)),
    ];
    random.weighted(&kinds).copied().unwrap_or(What::Sleep)
}

fn draw_who(random: &mut Random, what: What, at: f64) -> Who {
    match what {
        What::Uneven | What::Sleep => {
            let all = if what == What::Sleep { 2.0 } else { 0.0 };
            let ranks = [
                (Who::One(at), 2.0),
                (Who::Border, 1.5),
                (Who::Fourth, 1.5),
                (Who::Half, 1.0),
                (Who::Gradient, 1.0),
                (Who::Turns, 1.0),
                (Who::All, all),
            ];
            random.weighted(&ranks).copied().unwrap_or(Who::Border)
        }
        What::Io => {
            let ranks = [(Who::One(0.0), 2.0), (Who::All, 1.0), (Who::One(at), 1.0)];
            random.weighted(&ranks).copied().unwrap_or(Who::All)
        }
        What::Once => Who::One(at),
        _ => Who::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers() -> Vec<Offer> {
        let one = |name: &str, threads| Offer {
            name: name.into(),
            threads,
            mpi: true,
            plants: true,
            messages: true,
            templates: false,
        };
        vec![one("a", false), one("b", true), one("c", false)]
    }

    #[test]
    fn the_generator_is_the_published_one() {
        // First values of SplitMix64 from state 0.
        let mut random = Random(0);
        assert_eq!(random.next(), 0xE220_A839_7B1D_CDAF);
        assert_eq!(random.next(), 0x6E78_9E6A_A1B9_65F4);
    }

    #[test]
    fn the_same_seed_gives_the_same_plan_and_another_seed_another() {
        assert_eq!(plan(7, 50, &offers()), plan(7, 50, &offers()));
        assert_ne!(plan(7, 50, &offers()), plan(8, 50, &offers()));
    }

    #[test]
    fn at_least_a_quarter_are_controls_whatever_the_number() {
        for cases in 1..60 {
            let plan = plan(3, cases, &offers());
            assert_eq!(plan.len() as u64, cases);
            let controls = plan.iter().filter(|w| w.what == What::Control).count() as u64;
            assert_eq!(controls, cases.div_ceil(4), "{cases} cases");
        }
    }

    #[test]
    fn codes_in_which_nothing_can_be_planted_are_the_controls_of_their_blocks() {
        let mut offers = offers();
        offers.extend(["d", "e", "f", "g"].map(|name| Offer {
            name: name.into(),
            plants: name != "g",
            ..offers[0].clone()
        }));
        let plan = plan(5, 700, &offers);
        let controls = |w: &&Wish| w.what == What::Control;
        let bare = plan.iter().filter(|w| w.code == "g");
        assert_eq!(bare.clone().filter(controls).count(), 100);
        // A block has a second one only where it holds two cases of such a code.
        assert!(plan.iter().filter(controls).count() < 185);
    }

    #[test]
    fn every_class_every_set_of_ranks_and_every_code_is_drawn() {
        let plan = plan(1, 600, &offers());
        for what in [
            What::Uneven,
            What::NonShrinking,
            What::Sleep,
            What::Io,
            What::Message,
            What::Chain,
            What::Once,
            What::Thread,
            What::Lock,
            What::Serial,
        ] {
            assert!(plan.iter().any(|w| w.what == what), "{what:?}");
        }
        for who in [
            Who::Border,
            Who::Fourth,
            Who::Half,
            Who::Gradient,
            Who::Turns,
        ] {
            assert!(plan.iter().any(|w| w.who == who), "{who:?}");
        }
        for code in ["a", "b", "c"] {
            assert_eq!(plan.iter().filter(|w| w.code == code).count(), 200);
        }
        let threads = |w: &&Wish| w.what.is_of_threads();
        assert!(plan.iter().filter(threads).all(|w| w.code == "b"));
        assert!(plan.iter().all(|w| (0.01..=0.3).contains(&w.dose)));
        let below = plan.iter().filter(|w| w.dose < 0.0548).count();
        assert!((200..400).contains(&below), "half below the geometric mean");
    }

    #[test]
    fn concerned_ranks_are_those_with_more_than_the_mean() {
        assert_eq!(Who::Border.concerned(4), [0, 3]);
        assert_eq!(Who::Fourth.concerned(8), [0, 4]);
        assert_eq!(Who::Half.concerned(4), [0, 1]);
        assert_eq!(Who::Gradient.concerned(4), [2, 3]);
        assert_eq!(Who::One(0.99).concerned(4), [3]);
        assert_eq!(Who::All.concerned(3), [0, 1, 2]);
    }
}
