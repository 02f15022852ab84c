// npm run dtypes: writes the tables of dtypes from scripts/dtypes/table.mjs, and the headers with the Python code.
import { writeFileSync } from 'node:fs';
import { dtypeFiles } from './dtypes/files.mjs';
import { embeddedFiles } from './lib/embed.mjs';
import { at, main } from './lib/steps.mjs';

await main(() => {
  for (const [path, text] of dtypeFiles()) writeFileSync(at(path), text);
  for (const [path, text] of embeddedFiles()) writeFileSync(at(path), text);
});
