//! The one outbound HTTP client. Whatever address a stranger's text makes this server call goes through here.
//!
//! Only `https`, only public addresses, no redirects, bounded time and size, no proxy from the environment. What a test,
//! a demo or a private network needs besides is listed by host and port in [`Policy::allow`]; nothing is allowed by being
//! loopback. Addresses are judged where the connection is made: the resolver inside the client answers with public
//! addresses or not at all, so that a name cannot be one address when checked and another when called.

mod address;
mod client;
mod error;
mod socket;
mod url;

pub use address::is_public;
pub use client::{Client, Incoming, Lookup, Policy, Request, Response, System};
pub use error::Error;
pub use socket::WebSocket;
pub use url::{Destination, HostPort, Scheme};
