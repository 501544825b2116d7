//! The Authority API over real HTTP, on a chain in memory that keeps the vault's rules. Cases are those of spec 3.2.

mod asking;
mod callers;
mod cardano;
mod deciding;
mod desk;
mod faults;
mod pages;
mod reading;
mod settling;
mod till;
