/**
 * The server of examples/python-server for one request at a time and one that waits. Its model takes a byte from standard
 * input for each request: with `.` it doubles the two bytes of the request, and with any other it raises an exception.
 */

import { callTensorAsync, python } from 'dlpack/python';
import { Batches } from '../../../examples/python-server/batches.js';
import { serve } from '../../../examples/python-server/serve.js';

const py = python();
py.exec(`
import os, numpy
def predict(inputs):
    if os.read(0, 1) != b'.':
        raise ValueError('no such image')
    return numpy.from_dlpack(inputs) * 2
`);
const { predict } = py.import('__main__');

const batches = new Batches((inputs) => callTensorAsync(predict, inputs), {
  size: 1,
  deadline: 0,
  concurrency: 1,
  limit: 1,
});
await serve({ batches, shape: [2], port: Number(process.env.PORT) });
