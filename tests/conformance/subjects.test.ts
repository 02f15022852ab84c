/** Every subject of this repository follows the specification. The reports are the pages of docs/conformance. */

import { existsSync } from 'node:fs';
import { missing as missingLibrary } from '../adapters/libraries.js';
import { testWith } from '../harness.js';
import { fileOf } from './command.js';
import { checkPage } from './page.js';

const built = 'build/tests/conformance/subjects';
const missing = (file: string, tool: string) => !existsSync(fileOf(file)) && `${file} (${tool})`;

/** The page of each subject, its module, and what is missing for it. */
const subjects: readonly (readonly [page: string, module: string, missing: string | false])[] = [
  ['dlpack', `${built}/dlpack.js`, false],
  ['dlpack-core', `${built}/core.js`, false],
  ['plain-javascript', 'tests/conformance/plain/subject.mjs', false],
  ['c', 'tests/conformance/c/subject.mjs', missing('build/native/conformance_c.node', 'a C compiler')],
  ['rust', 'tests/conformance/rust/subject.mjs', missing('build/native/conformance_rust.node', 'cargo')],
  ['specification-example', `${built}/section-8.js`, false],
  ['producer-example', `${built}/example.js`, false],
  ['guide-consumer', `${built}/guide.js`, false],
  ['jax-js', `${built}/jax-js.js`, missingLibrary('@jax-js/jax')],
];

for (const [page, module, lack] of subjects) {
  testWith(lack, `conformance of ${page}`, () => checkPage(page, module));
}
