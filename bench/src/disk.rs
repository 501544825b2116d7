//! What a disk costs.

use crate::Outcome;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

/// The cost of a synced write that every latency bar stands on, milliseconds.
pub const EXPECTED: f64 = 0.2;

/// The median cost, in milliseconds, of writing 8 KiB over a file in `folder` and syncing it, as a write-ahead log does.
pub fn fdatasync(folder: &Path) -> Outcome<f64> {
    let mut file = tempfile::tempfile_in(folder)?;
    file.write_all(&vec![0; 8 << 20])?;
    file.sync_all()?;
    file.seek(SeekFrom::Start(0))?;
    let mut times = Vec::new();
    for _ in 0..500 {
        let start = Instant::now();
        file.write_all(&[1; 8192])?;
        file.sync_data()?;
        times.push(start.elapsed());
    }
    Ok(crate::percentile(&mut times, 50))
}

/// A latency bar for a path of one sync, in milliseconds: raised by what a sync costs here beyond what is expected.
pub fn bar(expected: f64, sync: f64) -> f64 {
    expected + (sync - EXPECTED).max(0.0)
}
