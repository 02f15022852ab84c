/** An image from sharp goes through a model of ONNX Runtime to NumPy; each step takes the memory of the one before. */

import { adapt, fromOnnxRuntime, toOnnxRuntime } from 'dlpack/adapters';
import { python } from 'dlpack/python';
import * as ort from 'onnxruntime-node';
import sharp from 'sharp';

// y = x + x for a float32 matrix of any size.
const model =
  'CAg6VwoOCgF4CgF4EgF5IgNBZGQSBWdyYXBoWh4KAXgSGQoXCAESEwoGEgRyb3dzCgkSB2NvbHVtbnNiHgoBeRIZChcIARITCgYSBHJvd3MKCRIHY29sdW1uc0IECgAQDQ==';
const session = await ort.InferenceSession.create(Buffer.from(model, 'base64'));

const image = sharp({ create: { width: 4, height: 2, channels: 3, background: '#0a141e' } });
const pixels = adapt(await image.raw().toBuffer({ resolveWithObject: true })); // sharp's memory: rows, columns, channels
console.log(pixels.shape); // [ 2, 4, 3 ]

const x = pixels.reshape([8, 3]).astype('float32'); // the only copy, because the dtype changes
const { y } = await session.run({ x: toOnnxRuntime(x, ort) }); // reads the memory of x
const result = fromOnnxRuntime(y as ort.Tensor, { adopt: true }); // the model's memory

const py = python();
const np = py.import('numpy');
const mean = np.from_dlpack(result).mean(0); // NumPy over the model's memory
console.log(py.toJS(mean.tolist())); // [ 20, 40, 60 ]
