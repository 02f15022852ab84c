/** An inference server with a PyTorch model in the process. */

import { availableParallelism } from 'node:os';
import type { Tensor } from 'dlpack';
import { callTensorAsync, python } from 'dlpack/python';
import { Batches } from './batches.js';
import { serve } from './serve.js';

/** Batches that the model computes at once, each on a thread of Python. They share the GIL, so more than eight gain nothing. */
const concurrency = Number(process.env.CONCURRENCY ?? Math.min(8, availableParallelism()));
const py = python({ threads: Number(process.env.THREADS ?? concurrency) });
py.exec(`
import torch
from torch import nn

torch.set_num_threads(1)  # calls run in parallel, each on one thread
torch.manual_seed(0)      # here the weights are random; load your own
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, stride=4), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=4), nn.ReLU(),
    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10), nn.Softmax(1)).eval()

@torch.inference_mode()
def predict(images):
    return model(torch.from_dlpack(images))
`);
const { predict } = py.import('__main__');

/** One pass over the pixels, on another thread: channels first, float32, from 0 to 1. */
const prepare = async (pixels: Tensor): Promise<Tensor> => {
  using planes = pixels.transpose([0, 3, 1, 2]);
  return await planes.astypeAsync('float32', { scale: 1 / 255 });
};

const run = async (pixels: Tensor): Promise<Tensor> => {
  using images = await prepare(pixels);
  return await callTensorAsync(predict, images);
};

const batches = new Batches(run, {
  size: Number(process.env.SIZE ?? 16),
  deadline: Number(process.env.DEADLINE ?? 1),
  concurrency,
  limit: Number(process.env.LIMIT ?? 256),
});
await serve({ batches, shape: [224, 224, 3], port: Number(process.env.PORT ?? 8080) });
