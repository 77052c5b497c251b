//! Reads the parameters of calls, with a library that is made of functions of ours.

mod calls;
mod process;
mod requests;
mod table;
