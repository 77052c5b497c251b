//! A collective of a window: who reached it when, and who came last of those whom a member needs.

use headwater_model::Rank;
use headwater_mpi_abi as abi;

/// A collective, and when each member reached it.
#[derive(Debug, Default)]
pub struct Instance {
    /// Class of the function that it was entered by.
    pub class: Option<abi::Class>,
    /// Index of the function that it was entered by.
    pub func: Option<u16>,
    /// By rank, then time, once all have come.
    pub members: Vec<(u64, Rank)>,
    /// The last of the members up to each: each member asks who came last, and there can be as many as ranks.
    last: Vec<(u64, Rank)>,
}

impl Instance {
    /// All members have come.
    pub fn close(&mut self) {
        self.members
            .sort_unstable_by_key(|(when, rank)| (*rank, *when));
        let mut last = (0, 0);
        let latest = self.members.iter().map(|member| {
            last = last.max(*member);
            last
        });
        self.last = latest.collect();
    }

    /// How many members have a smaller rank.
    pub fn below(&self, rank: Rank) -> usize {
        self.members.partition_point(|m| m.1 < rank)
    }

    /// The last of the first `n` members.
    pub fn last_of(&self, n: usize) -> Option<(u64, Rank)> {
        self.last.get(n.checked_sub(1)?).copied()
    }

    /// When a rank came.
    pub fn of_rank(&self, rank: Rank) -> Option<(u64, Rank)> {
        let end = self.members.partition_point(|m| m.1 <= rank);
        let member = self.members.get(end.checked_sub(1)?).copied();
        member.filter(|m| m.1 == rank)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_last_is_found_as_by_looking_at_all_members() {
        // Two members come at once, one rank comes twice, ranks are missing.
        let members = [(7, 3), (9, 1), (9, 5), (2, 8), (4, 3), (0, 0), (1, 11)];
        let mut instance = Instance {
            members: members.to_vec(),
            ..Instance::default()
        };
        instance.close();
        let last = |wanted: &dyn Fn(Rank) -> bool| {
            let all = members.iter().copied();
            all.filter(|(_, rank)| wanted(*rank)).max()
        };
        assert_eq!(instance.last_of(members.len()), last(&|_| true));
        for rank in 0..13 {
            let below = instance.last_of(instance.below(rank));
            assert_eq!(below, last(&|r| r < rank), "below {rank}");
            assert_eq!(instance.of_rank(rank), last(&|r| r == rank), "rank {rank}");
        }
        assert_eq!(Instance::default().last_of(0), None);
    }
}
