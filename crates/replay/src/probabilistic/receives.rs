//! Receives that follow from the sends of other ranks: posted by their senders' clocks, and waited for where the program
//! received.

use super::agree::{Agreement, Message};
use crate::error::Error;
use crate::library::{Mpi, address};
use crate::memory::Region;
use crate::player::Common;
use headwater_mpi_abi::Kind;
use std::collections::VecDeque;

/// The receives of a rank.
#[derive(Debug)]
pub struct Receives<'a> {
    mpi: &'a Mpi,
    common: &'a Common<'a>,
    agreement: &'a Agreement,
    /// How many are posted.
    posted: usize,
    /// Requests of those that are posted and not completed, with the times of their messages.
    open: VecDeque<(f64, u64)>,
    memory: Region,
    status: Region,
    byte: u64,
}

impl<'a> Receives<'a> {
    /// Nothing is posted yet.
    pub fn new(mpi: &'a Mpi, common: &'a Common<'a>, agreement: &'a Agreement) -> Self {
        Self {
            mpi,
            common,
            agreement,
            posted: 0,
            open: VecDeque::new(),
            memory: Region::default(),
            status: Region::default(),
            byte: mpi.predefined(Kind::Datatype, 0x247).unwrap_or(0),
        }
    }

    /// When an event of the rank ends, on the common clocks; after its last one, never.
    fn end(&self, event: u64) -> f64 {
        let at = usize::try_from(event).ok();
        let end = at.and_then(|at| self.agreement.ends.get(at));
        end.copied().unwrap_or(f64::INFINITY)
    }

    /// Posts the receives of messages that are sent before an event of this rank ends.
    ///
    /// # Errors
    /// There is no memory for a message.
    pub fn post(&mut self, event: u64) -> Result<(), Error> {
        let end = self.end(event);
        while let Some(message) = self.agreement.messages.get(self.posted).copied()
            && message.time <= end
        {
            let Some((number, members)) = self.agreement.comms.get(&message.comm) else {
                break;
            };
            // A communicator that is not made yet is made by this event.
            let Some(comm) = self.common.communicator(*number) else {
                break;
            };
            let source = members.iter().position(|rank| *rank == message.from);
            let request = self.receive(&message, source.unwrap_or(0), comm)?;
            self.open.push_back((message.time, request));
            self.posted += 1;
        }
        Ok(())
    }

    fn receive(&mut self, message: &Message, source: usize, comm: u64) -> Result<u64, Error> {
        let lacks = |bytes| Error::Memory {
            function: "MPI_Irecv",
            bytes,
        };
        let bytes = usize::try_from(message.bytes).unwrap_or(usize::MAX);
        let count = i32::try_from(message.bytes).map_err(|_| lacks(bytes))?;
        let buffer = self.memory.at_least(bytes);
        if buffer == 0 {
            return Err(lacks(bytes));
        }
        let mut request = [0_u64];
        let arguments = [
            buffer,
            count as u64,
            self.byte,
            source as u64,
            message.tag as u64,
            comm,
            address(&mut request),
        ];
        self.mpi.ask("MPI_Irecv", &arguments);
        let [request] = request;
        Ok(request)
    }

    /// Waits for the messages that were sent before an event of this rank ended.
    pub fn wait(&mut self, event: u64) {
        let end = self.end(event);
        while let Some((_, request)) = self.open.front().copied().filter(|(time, _)| *time < end) {
            self.open.pop_front();
            let status = self.status.at_least(self.mpi.abi.status_bytes);
            let mut request = [request];
            self.mpi.ask("MPI_Wait", &[address(&mut request), status]);
        }
    }

    /// Posts and waits for all that remain.
    ///
    /// # Errors
    /// There is no memory for a message.
    pub fn end_all(&mut self) -> Result<(), Error> {
        self.post(u64::MAX)?;
        self.wait(u64::MAX);
        Ok(())
    }
}
