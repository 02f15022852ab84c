// npm run wire: writes the TypeScript indices and the C++ structs of the wire from the table in
// scripts/wire/messages.mjs.
import { writeFileSync } from 'node:fs';
import { at, main } from './lib/steps.mjs';
import { layoutFiles } from './wire/layout.mjs';

await main(() => {
  for (const [path, text] of layoutFiles()) writeFileSync(at(path), text);
});
