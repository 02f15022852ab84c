// npm run embed: writes the headers that contain the Python code of the addon.
import { writeFileSync } from 'node:fs';
import { embeddedFiles } from './lib/embed.mjs';
import { at, main } from './lib/steps.mjs';

await main(() => {
  for (const [path, text] of embeddedFiles()) writeFileSync(at(path), text);
});
