//! Lines of bytes, without what ends them.

use crate::wire::LONGEST;
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Reads lines of at most [`LONGEST`] bytes; empty ones are left out.
#[derive(Debug)]
pub struct Lines<R> {
    from: R,
    /// What was read and not given yet, and how much of it has no line end.
    kept: Vec<u8>,
    searched: usize,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub const fn new(from: R) -> Self {
        Self { from, kept: Vec::new(), searched: 0, ended: false }
    }

    /// The next line, or nothing at the end. Safe to be given up and called again.
    pub async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let rest = self.kept.get(self.searched..).unwrap_or_default();
            if let Some(found) = rest.iter().position(|byte| *byte == b'\n') {
                let end = self.searched.saturating_add(found);
                let mut line: Vec<u8> = self.kept.drain(..=end).collect();
                self.searched = 0;
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                if !line.is_empty() {
                    return Ok(Some(line));
                }
                continue;
            }
            self.searched = self.kept.len();
            if self.ended {
                return Ok(None);
            }
            if self.kept.len() > LONGEST {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "a line is longer than 64 MiB"));
            }
            self.kept.reserve(16 << 10);
            if self.from.read_buf(&mut self.kept).await? == 0 {
                self.ended = true;
                // A last line without an end is one all the same.
                if !self.kept.is_empty() {
                    self.kept.push(b'\n');
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(text: &[u8], expected: &[&[u8]]) {
        let mut lines = Lines::new(text);
        let mut found = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            found.push(line);
        }
        assert_eq!(found, expected);
    }

    #[tokio::test]
    async fn lines_end_with_either_end_or_the_end() {
        check(b"", &[]).await;
        check(b"a\nb\r\n\n\nc", &[b"a", b"b", b"c"]).await;
    }
}
