//! What the server does to an envelope before it is recorded.
