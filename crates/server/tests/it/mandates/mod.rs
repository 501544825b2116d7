//! The Authority API over real HTTP, on a chain in memory that keeps the vault's rules. Cases are those of spec 3.2.

mod asking;
mod callers;
mod cardano;
mod deciding;
pub mod desk;
mod facilitating;
mod faults;
mod masumi;
mod origins;
mod pages;
mod principal;
mod quorum;
mod reading;
mod settling;
mod till;
mod waits;
