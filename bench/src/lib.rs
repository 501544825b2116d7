//! What several benchmarks need.

pub mod disk;
pub mod house;

/// The binary's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a benchmark gives: its bar is met, or why not.
pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Milliseconds of the value at `part` of 100, of all of them in order.
pub fn percentile(times: &mut [std::time::Duration], part: usize) -> f64 {
    times.sort_unstable();
    let place = (times.len().saturating_mul(part) / 100).min(times.len().saturating_sub(1));
    times.get(place).copied().unwrap_or_default().as_secs_f64() * 1e3
}
