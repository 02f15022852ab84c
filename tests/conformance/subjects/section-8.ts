/** The producer in section 8 of docs/spec.md, as the page shows it. */

import { readFileSync } from 'node:fs';
import type { Subject } from 'dlpack/conformance';
import { type MatrixClass, matrixProducer } from './matrix.js';

const page = readFileSync(new URL('../../../../docs/spec.md', import.meta.url), 'utf8');
const code = /^## 8\.[\s\S]*?```js\n([\s\S]*?)```/m.exec(page)?.[1];

export default {
  name: 'the example of the specification',
  producer: matrixProducer(new Function(`${code}; return Matrix;`)() as MatrixClass),
} satisfies Subject;
