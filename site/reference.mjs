// Writes the reference and checks it: `node reference.mjs`, or `--check` to only check. Prints the warnings, and fails if
// there are any.
import { writeReference } from './lib/reference.mjs';

const warnings = await writeReference({ emit: !process.argv.includes('--check') });
for (const line of warnings) console.log(line);
console.log(`${warnings.length} warnings`);
if (warnings.length > 0) process.exitCode = 1;
