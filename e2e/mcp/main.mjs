// Everything, one after the other.

import { conformance } from './conformance.mjs';
import { inspector } from './inspector.mjs';
import { rooms } from './room.mjs';
import { rust } from './rust.mjs';
import { summary } from './check.mjs';
import { wire } from './wire.mjs';

await conformance();
await wire();
await inspector();
await rooms();
await rust();
process.exitCode = summary();
