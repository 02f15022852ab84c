// npm run pictures: draws docs/pictures/*.svg from scripts/pictures/*.mjs.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { at } from './lib/steps.mjs';

mkdirSync(at('docs/pictures'), { recursive: true });
for (const file of readdirSync(at('scripts/pictures'))) {
  if (file === 'svg.mjs') continue;
  const { svg } = await import(at('scripts/pictures', file));
  writeFileSync(at('docs/pictures', file.replace('.mjs', '.svg')), svg);
}
