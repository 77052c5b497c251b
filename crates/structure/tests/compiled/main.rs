//! Structures of small programs, compiled here by several compilers in several ways.

mod build;
mod control;
mod damage;
mod debug;
mod dependence;
mod languages;
mod nesting;
mod stripped;
