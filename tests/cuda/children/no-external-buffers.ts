/** Device memory where the runtime forbids external ArrayBuffers. Reading it as host memory ends the process. */

import { Tensor } from 'dlpack';
import { loadDriver } from 'dlpack/cuda';
import { equal, throws } from '../../assert.js';
import { fakeDriverPath } from '../fake.js';

loadDriver({ path: fakeDriverPath });
const x = Tensor.zeros([4], 'int32', { device: 'cuda:0' });
equal(x.isDataCopied, false);
throws('UnsupportedDeviceError', "to('cpu')", () => [...x]);
equal([...x.slice([0, 0])], []);
equal([...x.to('cpu')], [0, 0, 0, 0]);
console.log('not read');
