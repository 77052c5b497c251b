//! Sends in standard mode in place of others.

use headwater_mpi_abi::{Class, FUNCTIONS, FuncId, id_of};

/// The same send in standard mode, if it is a ready or a buffered one: its receive may be posted later than it was, and its
/// length is drawn.
pub(crate) fn standard(id: FuncId) -> Option<FuncId> {
    let function = FUNCTIONS.get(usize::from(id.0))?;
    if function.class != Class::Send {
        return None;
    }
    let kind = function.name.strip_prefix("MPI_")?;
    let other = match kind {
        _ if kind.starts_with("Irs") || kind.starts_with("Ibs") => {
            format!("MPI_Is{}", kind.get(3..)?)
        }
        _ if kind.starts_with("Rs") || kind.starts_with("Bs") => format!("MPI_S{}", kind.get(2..)?),
        _ => return None,
    };
    id_of(&other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ready_and_buffered_sends_become_standard_ones() {
        let of = |name: &str| {
            let other = standard(id_of(name)?)?;
            FUNCTIONS.get(usize::from(other.0))
        };
        for (name, other) in [
            ("MPI_Rsend", "MPI_Send"),
            ("MPI_Ibsend_c", "MPI_Isend_c"),
            ("MPI_Bsend_init", "MPI_Send_init"),
            ("MPI_Irsend", "MPI_Isend"),
        ] {
            assert_eq!(of(name).map(|f| f.name), Some(other));
        }
        for name in ["MPI_Send", "MPI_Issend", "MPI_Ssend", "MPI_Isend"] {
            assert!(of(name).is_none(), "{name}");
        }
    }
}
