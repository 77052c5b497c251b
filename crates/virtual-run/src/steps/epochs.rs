//! Epochs of one-sided communication.

use super::{Act, Caller, EPOCH};
use crate::comms::WORLD;
use crate::notes::Note;
use headwater_mpi_abi::{Class, Kind};
use headwater_simulate as simulate;

impl Caller<'_> {
    /// An epoch of a window between some ranks: empty messages both ways.
    pub(super) fn epoch(&mut self) {
        let window = self.value(self.shape.at(Kind::Window));
        let group = self.value(self.shape.at(Kind::Group));
        let group = self.rank.handles.groups.get(&group).cloned();
        let comm = self
            .rank
            .handles
            .windows
            .get(&window)
            .copied()
            .unwrap_or(WORLD);
        let is_known = group.is_some();
        let (ranks, tag, sends) = match self.shape.class {
            Class::WinPost => {
                let ranks = group.unwrap_or_default();
                self.requests.posted.insert(window, ranks.clone());
                (ranks, EPOCH, true)
            }
            Class::WinStart => {
                let ranks = group.unwrap_or_default();
                self.requests.started.insert(window, ranks.clone());
                (ranks, EPOCH, false)
            }
            Class::WinComplete => {
                let ranks = self.requests.started.remove(&window);
                (ranks.unwrap_or_default(), EPOCH + 1, true)
            }
            _ => {
                if self.shape.flag.is_some() && self.value(self.shape.flag) != 1 {
                    return;
                }
                let ranks = self.requests.posted.remove(&window);
                (ranks.unwrap_or_default(), EPOCH + 1, false)
            }
        };
        if matches!(self.shape.class, Class::WinPost | Class::WinStart) && !is_known {
            self.notes.add(Note::OneSided);
        }
        for rank in ranks {
            if !self.recorded.trace.ranks.contains(rank) {
                continue;
            }
            let act = match sends {
                true => Act::Send {
                    to: rank,
                    tag,
                    comm,
                    bytes: self.requests.put.remove(&(window, rank)).unwrap_or(0),
                    mode: simulate::Mode::Eager,
                },
                false => Act::Recv {
                    from: rank,
                    tag,
                    comm,
                },
            };
            self.ops.push(act.op(None));
        }
    }
}
