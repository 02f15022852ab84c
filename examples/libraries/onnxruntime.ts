/** NumPy makes a batch, ONNX Runtime runs a model on it, PyTorch gets the result. No element is copied on the way. */

import { fromDLPack, Tensor } from 'dlpack';
import { kwargs, python } from 'dlpack/python';
import * as ort from 'onnxruntime-node';

// y = x + x for a float32 matrix of any size.
const model =
  'CAg6VwoOCgF4CgF4EgF5IgNBZGQSBWdyYXBoWh4KAXgSGQoXCAESEwoGEgRyb3dzCgkSB2NvbHVtbnNiHgoBeRIZChcIARITCgYSBHJvd3MKCRIHY29sdW1uc0IECgAQDQ==';
const session = await ort.InferenceSession.create(Buffer.from(model, 'base64'));

const py = python();
const np = py.import('numpy');
const torch = py.import('torch');

const batch = np.arange(6, kwargs({ dtype: 'float32' })).reshape(2, 3);
const x = fromDLPack(batch, { dtype: 'float32' }); // NumPy's memory
const y = Tensor.empty(x.shape, 'float32'); // where the model will write

await session.run(
  { x: new ort.Tensor('float32', x.data, x.shape) }, // reads NumPy's memory
  { y: new ort.Tensor('float32', y.data, y.shape) }, // writes into y's
);
const result = torch.from_dlpack(y); // PyTorch over the same memory
console.log(py.toJS(result.tolist())); // [ [ 0, 2, 4 ], [ 6, 8, 10 ] ]

py.setItem(batch, py.tuple(1, 2), 50);
console.log(x.get(1, 2)); // 50: what NumPy writes, the next run reads
