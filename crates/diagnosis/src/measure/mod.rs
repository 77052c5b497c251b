//! What runs show by themselves, before anything is called a cause.
//!
//! * Several recordings of a scale: `recordings` sorts them, `pool` makes one run of them. `absent` has what a rank
//!   without data is taken for.
//! * One run: `scale` derives what one run shows: `phases` between synchronisations, `replay` of event windows in
//!   virtual time, `waits` between ranks, `traffic` of messages and `transfer` of data, `binding` of ranks to cores.
//!   `scales` joins all runs, with `scaling`, `efficiency`, its counters by `processor`, and the machine's own `pace`.
//! * Places: `inclusive` sums up what is inside a vertex, `places` and `source_place` name places, `program_place` and
//!   `unnamed` say where the user can read. `times` sums vertices up over ranks, and `marks` lists those that scale
//!   badly or differ between ranks.
//! * Lateness: `late` decides which ranks are late, and `holder` which place holds the excess. `timing`, `chance`,
//!   `once` and `repetition` say how far ranks differ by chance. `moving` measures unevenness that is on other ranks
//!   each time.
//! * Dependences: `backtrack` walks back along waits; `chain` finds the critical path of a window, and `even_replay`
//!   plays it with even work.
//! * Threads: `teams` computes what threads of a team did in each `stretch`, `same_team` finds the calls that begin one
//!   team, `same_site` joins teams of one place in the source, `beside` says whether a rank's own thread is one of it.
//!   `slight` has the sentence on teams that are only a little uneven. `contended` finds what threads waited for, and
//!   `allocation` their waits in the memory allocator. `lock_groups` has waits for locks by place, with the `line` in which threads
//!   would wait if each had a core, by their `hold_times` and a replay of the `queue`. `team_path` leads the critical path
//!   through teams. `useful` sums up what all threads compute, for `thread_efficiency`.
//! * `same_work` says whether a place does the same at all scales by what the compiler knows of it. `floor` is the least
//!   cost of a cause.

pub mod absent;
pub mod allocation;
pub mod backtrack;
pub mod beside;
pub mod binding;
pub mod chain;
pub mod chance;
pub mod contended;
pub mod counted;
pub mod efficiency;
pub mod even_replay;
pub mod floor;
pub mod hold_times;
pub mod holder;
pub mod inclusive;
pub mod late;
pub mod line;
pub mod lock_groups;
pub mod marks;
pub mod moving;
pub mod once;
pub mod pace;
pub mod phases;
pub mod places;
pub mod pool;
pub mod processor;
pub mod program_place;
pub mod queue;
pub mod recordings;
pub mod repetition;
pub mod replay;
pub mod same_site;
pub mod same_team;
pub mod same_work;
pub mod scale;
pub mod scales;
pub mod scaling;
pub mod slight;
pub mod source_place;
pub mod stretch;
pub mod team_path;
pub mod teams;
pub mod thread_efficiency;
pub mod times;
pub mod timing;
pub mod traffic;
pub mod transfer;
pub mod unnamed;
pub mod useful;
pub mod waits;
