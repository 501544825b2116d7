//! Server-sent events, as far as Streamable HTTP has them.

/// What one event says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Happened {
    pub id: Option<String>,
    pub data: String,
    /// Milliseconds after which to come again.
    pub retry: Option<u64>,
}

/// Reads events from pieces of a stream, however it is cut.
#[derive(Debug, Default)]
pub struct Reader {
    kept: Vec<u8>,
    event: Happened,
    data: Vec<String>,
    /// A line ended with `\r`: a `\n` next is part of the same end.
    half: bool,
}

/// The most one event may hold.
const LONGEST: usize = crate::wire::LONGEST;

impl Reader {
    /// The events that end in this piece. Nothing once an event is too long.
    pub fn push(&mut self, piece: &[u8]) -> Option<Vec<Happened>> {
        let mut found = Vec::new();
        for byte in piece {
            match byte {
                b'\n' if self.half => self.half = false,
                b'\n' | b'\r' => {
                    self.half = *byte == b'\r';
                    let line = std::mem::take(&mut self.kept);
                    found.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                _ => {
                    self.half = false;
                    self.kept.push(*byte);
                }
            }
        }
        let long = self.data.iter().map(String::len).sum::<usize>().saturating_add(self.kept.len());
        (long <= LONGEST).then_some(found)
    }

    fn line(&mut self, line: &str) -> Option<Happened> {
        if line.is_empty() {
            let mut event = std::mem::take(&mut self.event);
            event.data = std::mem::take(&mut self.data).join("\n");
            return (event != Happened::default()).then_some(event);
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "id" if !value.contains('\0') => self.event.id = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            "retry" => self.event.retry = value.parse().ok(),
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: Option<&str>, data: &str, retry: Option<u64>) -> Happened {
        Happened { id: id.map(str::to_owned), data: data.to_owned(), retry }
    }

    fn check(text: &str, expected: &[Happened]) {
        for size in [1, 3, text.len().max(1)] {
            let mut reader = Reader::default();
            let pieces = text.as_bytes().chunks(size);
            let found: Vec<Happened> = pieces.flat_map(|piece| reader.push(piece).unwrap()).collect();
            assert_eq!(found, expected, "{text:?} by {size}");
        }
    }

    #[test]
    fn events_are_read_however_they_are_cut() {
        check("data: {}\n\n", &[event(None, "{}", None)]);
        check("id: 7\r\nevent: message\r\ndata:a\r\ndata: b\r\n\r\n", &[event(Some("7"), "a\nb", None)]);
        check(": hello\n\nid: 1\nretry: 500\ndata\n\ndata: x\n", &[event(Some("1"), "", Some(500))]);
    }
}
