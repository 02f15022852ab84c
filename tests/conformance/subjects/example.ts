/** The producer of examples/producer.ts. */

import type { Subject } from 'dlpack/conformance';
import { Matrix } from '../../../examples/producer.js';
import { matrixProducer } from './matrix.js';

export default { name: 'examples/producer.ts', producer: matrixProducer(Matrix) } satisfies Subject;
