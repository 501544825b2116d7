//! The protocol parameters that building and judging a transaction needs.

use crate::{ChainError, ExUnits};
use serde::Deserialize;

/// As of one epoch. Lovelace, bytes and execution units.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Parameters {
    pub protocol_major: u64,
    pub fee_per_byte: u64,
    pub fee_fixed: u64,
    pub price_memory: Ratio,
    pub price_steps: Ratio,
    /// For the first 25600 bytes of scripts that are referred to; each further 25600 cost 1.2 times as much.
    pub fee_per_reference_script_byte: u64,
    pub lovelace_per_output_byte: u64,
    pub collateral_percent: u64,
    pub max_collateral_inputs: u32,
    pub max_tx_bytes: u32,
    pub max_value_bytes: u32,
    pub max_tx_memory: u64,
    pub max_tx_steps: u64,
    pub cost_model_v3: Vec<i64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Ratio {
    pub numerator: u64,
    pub denominator: u64,
}

impl Parameters {
    /// Conway's, as the embedded ledger applies them.
    pub fn conway() -> Result<Self, ChainError> {
        canon::from_slice(CONWAY.as_bytes())
            .map_err(|error| ChainError::Bug(format!("the parameters cannot be read: {error}")))
    }

    /// The least fee of a transaction of so many bytes, whose scripts are allowed so much and of which so many bytes are referred to.
    pub fn least_fee(&self, bytes: u64, units: ExUnits, reference_script_bytes: u64) -> u64 {
        let size = u128::from(bytes) * u128::from(self.fee_per_byte) + u128::from(self.fee_fixed);
        let fee = size + self.units_fee(units) + self.reference_fee(reference_script_bytes);
        u64::try_from(fee).unwrap_or(u64::MAX)
    }

    /// The least lovelace an output of so many bytes may hold.
    pub fn least_lovelace(&self, bytes: usize) -> u64 {
        const OVERHEAD: u64 = 160;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX).saturating_add(OVERHEAD);
        bytes.saturating_mul(self.lovelace_per_output_byte)
    }

    /// The least collateral for a fee.
    pub fn least_collateral(&self, fee: u64) -> u64 {
        fee.saturating_mul(self.collateral_percent).div_ceil(100)
    }

    /// Rounded up once, as the ledger does.
    fn units_fee(&self, units: ExUnits) -> u128 {
        let part = |units: u64, price: Ratio, other: Ratio| {
            u128::from(units) * u128::from(price.numerator) * u128::from(other.denominator)
        };
        let (memory, steps) = (self.price_memory, self.price_steps);
        let sum = part(units.memory, memory, steps) + part(units.steps, steps, memory);
        sum.div_ceil((u128::from(memory.denominator) * u128::from(steps.denominator)).max(1))
    }

    /// Rounded down, as the ledger does. Prices are kept in 5^tier parts, which is exact.
    fn reference_fee(&self, bytes: u64) -> u128 {
        const TIER: u64 = 25_600;
        const MOST_TIERS: u32 = 20;
        let (mut left, mut tier, mut fee) = (bytes, 0_u32, (0_u128, 1_u128));
        while left > 0 && tier < MOST_TIERS {
            let here = left.min(TIER);
            let price = u128::from(self.fee_per_reference_script_byte) * 6_u128.pow(tier);
            let parts = 5_u128.pow(tier);
            fee = (fee.0 * (parts / fee.1) + u128::from(here) * price, parts);
            left -= here;
            tier += 1;
        }
        fee.0 / fee.1
    }
}

const CONWAY: &str = include_str!("ledger/conway.json");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fees_are_the_ledgers() {
        let parameters = Parameters::conway().unwrap();
        assert_eq!(parameters.cost_model_v3.len(), 297);
        let none = ExUnits::default();
        let check = |bytes, units, scripts, expected| {
            assert_eq!(parameters.least_fee(bytes, units, scripts), expected, "{bytes} {units:?} {scripts}");
        };
        check(0, none, 0, 155_381);
        check(300, none, 0, 155_381 + 13_200);
        // 1000000 x 0.0577 + 100000000 x 0.0000721, and one unit more is one lovelace more.
        check(0, ExUnits { memory: 1_000_000, steps: 100_000_000 }, 0, 155_381 + 57_700 + 7_210);
        check(0, ExUnits { memory: 1_000_000, steps: 100_000_001 }, 0, 155_381 + 57_700 + 7_211);
        check(0, none, 25_600, 155_381 + 384_000);
        check(0, none, 25_601, 155_381 + 384_018);
        check(0, none, 76_800, 155_381 + 384_000 + 460_800 + 552_960);
    }
}
