//! Giving a compiled script its parameters. A script is a program in the bit-wise encoding of Untyped Plutus Core ("flat");
//! a parameter is applied by writing `[program parameter]` anew, bit by bit: only the alignment of byte strings changes.

/// The flat bytes of `program` applied to these values of Plutus data (in CBOR), the first one first. None for what is no program.
pub(crate) fn apply(program: &[u8], parameters: &[Vec<u8>]) -> Option<Vec<u8>> {
    let mut copy = Copy { from: Bits { bytes: program, at: 0 }, to: Writer::default() };
    for _ in 0..3 {
        copy.natural()?;
    }
    parameters.iter().for_each(|_| copy.to.bits(APPLY, 4));
    copy.term()?;
    copy.from.filler()?;
    if copy.from.at != program.len().checked_mul(8)? {
        return None;
    }
    let mut to = copy.to;
    for parameter in parameters {
        to.bits(CONSTANT, 4);
        // A type is a list of tags: one more, data, no more.
        to.bits(1, 1);
        to.bits(DATA, 4);
        to.bits(0, 1);
        to.string(parameter);
    }
    to.filler();
    Some(to.bytes)
}

const APPLY: u8 = 3;
const CONSTANT: u8 = 4;
const DATA: u8 = 8;

/// Reads and writes the same at once.
struct Copy<'a> {
    from: Bits<'a>,
    to: Writer,
}

/// What is still to be copied.
enum Work {
    Term,
    /// Terms, each after a bit that says that there is one.
    Terms,
}

impl Copy<'_> {
    fn bits(&mut self, count: u8) -> Option<u8> {
        let bits = self.from.bits(count)?;
        self.to.bits(bits, count);
        Some(bits)
    }

    /// Seven bits at a time, the first bit says whether there are more.
    fn natural(&mut self) -> Option<u64> {
        let (mut value, mut shift) = (0_u64, 0_u32);
        loop {
            let byte = self.bits(8)?;
            if shift < 64 {
                value |= u64::from(byte & 0x7f) << shift;
            }
            shift = shift.checked_add(7)?;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.from.filler()?;
        let mut string = Vec::new();
        loop {
            let length = self.from.bits(8)?;
            if length == 0 {
                self.to.string(&string);
                return Some(());
            }
            for _ in 0..length {
                string.push(self.from.bits(8)?);
            }
        }
    }

    /// A whole term. Programs nest deeply, so what is open is kept in a list and not on the stack.
    fn term(&mut self) -> Option<()> {
        let mut open = vec![Work::Term];
        while let Some(work) = open.pop() {
            if matches!(work, Work::Terms) {
                if self.bits(1)? == 1 {
                    open.push(Work::Terms);
                    open.push(Work::Term);
                }
                continue;
            }
            match self.bits(4)? {
                // A variable.
                0 => {
                    self.natural()?;
                }
                // Delay, lambda, force.
                1 | 2 | 5 => open.push(Work::Term),
                APPLY => open.extend([Work::Term, Work::Term]),
                CONSTANT => self.constant()?,
                // Error.
                6 => {}
                // A builtin.
                7 => {
                    self.bits(7)?;
                }
                // Constr: a tag and fields.
                8 => {
                    self.natural()?;
                    open.push(Work::Terms);
                }
                // Case: what it looks at and branches.
                9 => open.extend([Work::Terms, Work::Term]),
                _ => return None,
            }
        }
        Some(())
    }

    fn constant(&mut self) -> Option<()> {
        let mut tags = Vec::new();
        while self.bits(1)? == 1 {
            tags.push(self.bits(4)?);
        }
        let mut tags = tags.into_iter();
        let kind = Kind::read(&mut tags, DEEPEST)?;
        if tags.next().is_some() {
            return None;
        }
        self.value(&kind)
    }

    fn value(&mut self, kind: &Kind) -> Option<()> {
        match kind {
            Kind::Integer => self.natural().map(drop),
            Kind::String => self.string(),
            Kind::Unit => Some(()),
            Kind::Bool => self.bits(1).map(drop),
            Kind::List(of) => {
                while self.bits(1)? == 1 {
                    self.value(of)?;
                }
                Some(())
            }
            Kind::Pair(one, two) => {
                self.value(one)?;
                self.value(two)
            }
        }
    }
}

/// How a constant is written; bytes, texts and data alike as a string.
enum Kind {
    Integer,
    String,
    Unit,
    Bool,
    List(Box<Kind>),
    Pair(Box<Kind>, Box<Kind>),
}

const DEEPEST: u8 = 32;

impl Kind {
    fn read(tags: &mut impl Iterator<Item = u8>, depth: u8) -> Option<Self> {
        let depth = depth.checked_sub(1)?;
        Some(match tags.next()? {
            0 => Self::Integer,
            1 | 2 | DATA => Self::String,
            3 => Self::Unit,
            4 => Self::Bool,
            // Application: to a list, or to a pair that is applied to its first part.
            7 => match tags.next()? {
                5 => Self::List(Box::new(Self::read(tags, depth)?)),
                7 if tags.next()? == 6 => {
                    let one = Self::read(tags, depth)?;
                    Self::Pair(Box::new(one), Box::new(Self::read(tags, depth)?))
                }
                _ => return None,
            },
            _ => return None,
        })
    }
}

struct Bits<'a> {
    bytes: &'a [u8],
    /// In bits.
    at: usize,
}

impl Bits<'_> {
    fn bits(&mut self, count: u8) -> Option<u8> {
        let mut value = 0;
        for _ in 0..count {
            let byte = self.bytes.get(self.at / 8)?;
            value = (value << 1) | ((byte >> (7 - self.at % 8)) & 1);
            self.at = self.at.checked_add(1)?;
        }
        Some(value)
    }

    /// Zeros and a one, up to the end of a byte.
    fn filler(&mut self) -> Option<()> {
        while self.bits(1)? == 0 {}
        self.at.is_multiple_of(8).then_some(())
    }
}

#[derive(Default)]
struct Writer {
    bytes: Vec<u8>,
    /// How many bits of the last byte are written; a full one counts as none.
    used: u8,
}

impl Writer {
    fn bits(&mut self, value: u8, count: u8) {
        for at in (0..count).rev() {
            if self.used == 0 {
                self.bytes.push(0);
            }
            if let Some(last) = self.bytes.last_mut() {
                *last |= ((value >> at) & 1) << (7 - self.used);
            }
            self.used = (self.used + 1) % 8;
        }
    }

    fn filler(&mut self) {
        while self.used != 7 {
            self.bits(0, 1);
        }
        self.bits(1, 1);
    }

    fn string(&mut self, string: &[u8]) {
        self.filler();
        for chunk in string.chunks(255) {
            self.bytes.push(u8::try_from(chunk.len()).unwrap_or(u8::MAX));
            self.bytes.extend_from_slice(chunk);
        }
        self.bytes.push(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `(program 1.1.0 (lam x (con bytestring #abcd)))`, by hand: versions, lambda, constant, type, filler, bytes, filler.
    const PROGRAM: &[u8] = &[1, 1, 0, 0b0010_0100, 0b1000_1001, 2, 0xab, 0xcd, 0, 1];

    #[test]
    fn a_parameter_moves_the_program_by_half_a_byte_and_realigns_its_strings() {
        assert_eq!(apply(PROGRAM, &[]).unwrap(), PROGRAM);
        let applied = apply(PROGRAM, &[vec![0x07]]).unwrap();
        // apply, lambda | constant, type.. | ..type, filler
        let expected = [
            1,
            1,
            0,
            0b0011_0010,
            0b0100_1000,
            0b1000_0001,
            2,
            0xab,
            0xcd,
            0,
            0b0100_1100,
            0b0000_0001,
            1,
            7,
            0,
            1,
        ];
        assert_eq!(applied, expected);
    }

    #[test]
    fn what_is_no_program_is_refused() {
        for cut in 0..PROGRAM.len() {
            assert_eq!(apply(&PROGRAM[..cut], &[vec![0]]), None, "{cut}");
        }
        assert_eq!(apply(&[PROGRAM, &[1]].concat(), &[]), None);
        assert_eq!(apply(&[1, 1, 0, 0xa1], &[]), None);
    }
}
