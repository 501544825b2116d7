//! The one zip layout of an evidence bundle (spec 3.14), read without trust in anything it says of itself.
//!
//! The entries follow each other from the first byte, each local header repeating its central entry; then the central
//! directory; then the end record, which ends the file. Stored and deflated entries only. Refused: bytes before, between
//! or after, comments, extra fields, flags, zip64, links, names that could leave a folder, a name twice, sizes and
//! checksums that are not those of the content, and everything beyond the limits.

use crate::Error;
use canon::Digest;
use flate2::{Crc, Decompress, FlushDecompress, Status};
use sha2::Digest as _;
use std::collections::HashSet;

pub(crate) const MAX_ENTRIES: usize = 10_000;
pub(crate) const MAX_ENTRY: u64 = 64 << 20;
pub(crate) const MAX_TOTAL: u64 = 512 << 20;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// One file of the archive, still packed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'a> {
    pub(crate) name: &'a str,
    method: u16,
    crc: u32,
    packed: &'a [u8],
    size: u64,
}

/// The entries in their order.
pub(crate) fn open(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let bad = Error::Zip;
    let at_end = bytes.len().checked_sub(22).ok_or(bad("it has no end record"))?;
    let mut end = Fields(bytes.get(at_end..).unwrap_or_default());
    if end.u32()? != END {
        return Err(bad("it does not end in an end record"));
    }
    let (disk, first, here, count) = (end.u16()?, end.u16()?, end.u16()?, end.u16()?);
    let (length, start, comment) = (end.length()?, end.length()?, end.u16()?);
    if disk != 0 || first != 0 || here != count || comment != 0 || start.checked_add(length) != Some(at_end) {
        return Err(bad("the end record"));
    }
    if usize::from(count) > MAX_ENTRIES {
        return Err(Error::TooLarge("more than 10000 files"));
    }
    let mut directory = Fields(bytes.get(start..at_end).unwrap_or_default());
    let (mut entries, mut names, mut at, mut total) = (Vec::new(), HashSet::new(), 0, 0_u64);
    while !directory.0.is_empty() {
        let (entry, next) = entry(&mut directory, bytes, at)?;
        if !names.insert(entry.name) {
            return Err(bad("a name twice"));
        }
        total = total.saturating_add(entry.size);
        if entry.size > MAX_ENTRY || total > MAX_TOTAL {
            return Err(Error::TooLarge("more than 64 MiB in a file, or 512 MiB in all"));
        }
        at = next;
        entries.push(entry);
    }
    if entries.len() != usize::from(count) || at != start {
        return Err(bad("the files do not fill the space before the directory"));
    }
    Ok(entries)
}

/// The next entry of the directory, whose local header must begin at `at`, and where its content ends.
fn entry<'a>(directory: &mut Fields<'a>, bytes: &'a [u8], at: usize) -> Result<(Entry<'a>, usize), Error> {
    let bad = Error::Zip;
    if directory.u32()? != CENTRAL {
        return Err(bad("the directory"));
    }
    directory.skip(4)?;
    let (flags, method) = (directory.u16()?, directory.u16()?);
    directory.skip(4)?;
    let (crc, packed, size) = (directory.u32()?, directory.length()?, directory.length()?);
    let (name_length, extra, comment) = (directory.u16()?, directory.u16()?, directory.u16()?);
    let disk = directory.u16()?;
    directory.skip(2)?;
    let (attributes, offset) = (directory.u32()?, directory.length()?);
    let name = directory.take(usize::from(name_length))?;
    if extra != 0 || comment != 0 || flags != 0 || disk != 0 {
        return Err(bad("an extra field, a comment or a flag"));
    }
    if method != STORED && method != DEFLATED || method == STORED && packed != size {
        return Err(bad("a method that is neither stored nor deflated"));
    }
    if attributes >> 16 & 0o170_000 == 0o120_000 {
        return Err(bad("a link"));
    }
    if offset != at {
        return Err(bad("a file does not follow the one before"));
    }
    let mut local = Fields(bytes.get(at..).unwrap_or_default());
    let same = local.u32()? == LOCAL && local.skip(2).is_ok() && local.u16()? == 0 && local.u16()? == method;
    local.skip(4)?;
    let same = same && local.u32()? == crc && local.length()? == packed && local.length()? == size;
    let same = same && local.u16()? == name_length && local.u16()? == 0 && local.take(name.len())? == name;
    if !same {
        return Err(bad("a local header that is not its directory's"));
    }
    let content = local.take(packed)?;
    let name = std::str::from_utf8(name).ok().filter(|name| plain(name)).ok_or(bad("a name"))?;
    let size = u64::try_from(size).unwrap_or(u64::MAX);
    Ok((Entry { name, method, crc, packed: content, size }, bytes.len() - local.0.len()))
}

/// Parts of letters, digits, `.`, `_` and `-`, not all dots; the name does not begin with a dot.
fn plain(name: &str) -> bool {
    !name.starts_with('.')
        && name.split('/').all(|part| {
            part.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
                && part.bytes().any(|b| b != b'.')
        })
}

impl<'a> Entry<'a> {
    pub(crate) fn unpack(&self) -> Unpack<'a> {
        Unpack {
            entry: *self,
            rest: self.packed,
            inflate: (self.method == DEFLATED).then(|| Box::new(Decompress::new(false))),
            made: 0,
            crc: Crc::new(),
            hash: sha2::Sha256::new(),
        }
    }

    /// The whole content and its digest.
    pub(crate) fn read(&self) -> Result<(Vec<u8>, Digest), Error> {
        let mut unpack = self.unpack();
        let mut content = Vec::new();
        while unpack.more(&mut content, CHUNK)? {}
        Ok((content, unpack.digest()))
    }

    /// The digest of the content alone.
    pub(crate) fn digest(&self) -> Result<Digest, Error> {
        let mut unpack = self.unpack();
        let mut chunk = Vec::new();
        while unpack.more(&mut chunk, CHUNK)? {
            chunk.clear();
        }
        Ok(unpack.digest())
    }
}

/// How much is unpacked at a time, in bytes.
pub(crate) const CHUNK: usize = 64 << 10;

/// An entry being unpacked. The size, the checksum and the end of the packed bytes are checked where it ends.
pub(crate) struct Unpack<'a> {
    entry: Entry<'a>,
    rest: &'a [u8],
    inflate: Option<Box<Decompress>>,
    made: u64,
    crc: Crc,
    hash: sha2::Sha256,
}

impl Unpack<'_> {
    /// Appends at most `want` bytes. `false` at the end, when everything has held.
    pub(crate) fn more(&mut self, into: &mut Vec<u8>, want: usize) -> Result<bool, Error> {
        let start = into.len();
        let ended = match &mut self.inflate {
            None => {
                let (now, rest) = self.rest.split_at_checked(want).unwrap_or((self.rest, &[]));
                into.extend_from_slice(now);
                self.rest = rest;
                rest.is_empty()
            }
            Some(inflate) => {
                into.reserve(want);
                let before = inflate.total_in();
                let status = inflate
                    .decompress_vec(self.rest, into, FlushDecompress::None)
                    .map_err(|_| Error::Zip("a file that does not unpack"))?;
                let used = usize::try_from(inflate.total_in() - before).unwrap_or(usize::MAX);
                self.rest = self.rest.get(used..).unwrap_or_default();
                match status {
                    Status::StreamEnd => true,
                    _ if used == 0 && into.len() == start => {
                        return Err(Error::Zip("a file that does not unpack"));
                    }
                    _ => false,
                }
            }
        };
        let new = into.get(start..).unwrap_or_default();
        self.made = self.made.saturating_add(u64::try_from(new.len()).unwrap_or(u64::MAX));
        if self.made > self.entry.size {
            return Err(Error::Zip("a file longer than it says"));
        }
        self.crc.update(new);
        self.hash.update(new);
        if ended
            && (self.made != self.entry.size || !self.rest.is_empty() || self.crc.sum() != self.entry.crc)
        {
            return Err(Error::Zip("a size or a checksum that is not the file's"));
        }
        Ok(!ended)
    }

    /// SHA-256 of what was unpacked.
    pub(crate) fn digest(self) -> Digest {
        Digest::from_bytes(self.hash.finalize().into())
    }
}

/// Little-endian fields from the front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Result<&'a [u8], Error> {
        let (now, rest) = self.0.split_at_checked(count).ok_or(Error::Zip("it is cut short"))?;
        self.0 = rest;
        Ok(now)
    }
    fn skip(&mut self, count: usize) -> Result<(), Error> {
        self.take(count).map(|_| ())
    }
    fn u16(&mut self) -> Result<u16, Error> {
        self.take(2).map(|bytes| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u16::from(byte)))
    }
    fn u32(&mut self) -> Result<u32, Error> {
        self.take(4).map(|bytes| bytes.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte)))
    }
    fn length(&mut self) -> Result<usize, Error> {
        self.u32().and_then(|value| usize::try_from(value).map_err(|_| Error::Zip("a length")))
    }
}

/// An archive of the one layout, deflated.
pub(crate) fn pack(files: &[(String, Vec<u8>)]) -> Result<Vec<u8>, Error> {
    let long = |length: usize| u32::try_from(length).map_err(|_| Error::TooLarge("more than a zip holds"));
    let short = |length: usize| u16::try_from(length).map_err(|_| Error::TooLarge("more than a zip holds"));
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in files {
        let offset = long(out.len())?.to_le_bytes();
        let mut crc = Crc::new();
        crc.update(content);
        let packed = deflate(content)?;
        // From the flags to the lengths of the name and of no extra field, alike in both headers. 0x21: the first of 1980.
        let mut fields = vec![0, 0];
        fields.extend(DEFLATED.to_le_bytes());
        fields.extend([0, 0, 0x21, 0]);
        fields.extend(crc.sum().to_le_bytes());
        fields.extend(long(packed.len())?.to_le_bytes());
        fields.extend(long(content.len())?.to_le_bytes());
        fields.extend(short(name.len())?.to_le_bytes());
        fields.extend([0, 0]);
        out.extend(LOCAL.to_le_bytes());
        out.extend([20, 0]);
        out.extend_from_slice(&fields);
        out.extend_from_slice(name.as_bytes());
        out.extend(packed);
        directory.extend(CENTRAL.to_le_bytes());
        // Made under Unix, where the attributes of a plain file mean something.
        directory.extend([20, 3, 20, 0]);
        directory.extend(fields);
        // No comment, disk 0, no inner attributes.
        directory.extend([0; 6]);
        directory.extend((0o100_600_u32 << 16).to_le_bytes());
        directory.extend(offset);
        directory.extend_from_slice(name.as_bytes());
    }
    let (start, count) = (long(out.len())?, short(files.len())?.to_le_bytes());
    let length = long(directory.len())?;
    out.extend(directory);
    out.extend(END.to_le_bytes());
    out.extend([0; 4]);
    out.extend(count);
    out.extend(count);
    out.extend(length.to_le_bytes());
    out.extend(start.to_le_bytes());
    out.extend([0, 0]);
    Ok(out)
}

fn deflate(content: &[u8]) -> Result<Vec<u8>, Error> {
    use std::io::Write;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    // INVARIANT: a Vec takes every byte.
    encoder.write_all(content).and_then(|()| encoder.finish()).map_err(|_| Error::TooLarge("no memory"))
}
