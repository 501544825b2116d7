// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// A price feed for tests: AggregatorV3's interface, and a price that anybody sets.
contract TestFeed {
    uint8 public constant decimals = 8;
    uint80 private round;
    int256 private answer;
    uint256 private updatedAt;

    function set(uint256 price, uint256 at) external {
        round += 1;
        answer = int256(price);
        updatedAt = at;
    }

    function latestRoundData() external view returns (uint80, int256, uint256, uint256, uint80) {
        return (round, answer, updatedAt, updatedAt, round);
    }
}
