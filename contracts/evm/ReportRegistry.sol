// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.30;

/// Reports of verifiers, by the trigger they were asked under. Each is written once, by the owner alone, and never changed.
/// A record says when somebody could have known the report, not that it is true: that is what the verifiers sign for.
contract ReportRegistry {
    struct Entry {
        bytes32 subject;
        bytes32 report;
        uint64 at;
    }

    address public immutable owner;
    mapping(bytes32 trigger => Entry) private entries;

    event Recorded(bytes32 indexed trigger, bytes32 indexed subject, bytes32 indexed report);

    error NotTheOwner();
    error RecordedBefore();

    constructor() {
        owner = msg.sender;
    }

    /// trigger: SHA-256 of the trigger's id. subject: the hash of the action, or of the quote. report: the report's hash.
    function record(bytes32 trigger, bytes32 subject, bytes32 report) external {
        if (msg.sender != owner) revert NotTheOwner();
        if (entries[trigger].at != 0) revert RecordedBefore();
        entries[trigger] = Entry(subject, report, uint64(block.timestamp));
        emit Recorded(trigger, subject, report);
    }

    /// Zeros where there is none. `at` is the time of its block.
    function entry(bytes32 trigger) external view returns (bytes32 subject, bytes32 report, uint64 at) {
        Entry storage found = entries[trigger];
        return (found.subject, found.report, found.at);
    }
}
