/** Python's GPU libraries in this process, and functions on their arrays. */

import { fromDLPack, type Tensor } from 'dlpack';
import { asCudaArray } from 'dlpack/cuda';
import { type PyObject, python } from 'dlpack/python';
import { pythonExecutable } from './environment.js';

export const py = python({ executable: pythonExecutable });

py.exec(`
import torch, cupy as cp, jax, jax.numpy as jnp, numpy as np, sys

def torch_array(): return torch.arange(6, dtype=torch.float32, device='cuda').reshape(2, 3)
def cupy_array(): return cp.arange(6, dtype=cp.float32).reshape(2, 3)
def jax_array():
    a = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
    a.block_until_ready()
    return a

def address(a):
    if hasattr(a, 'data_ptr'): return a.data_ptr()
    if hasattr(a, 'unsafe_buffer_pointer'): return a.unsafe_buffer_pointer()
    return a.data.ptr

def write(a, value):
    a.fill_(value) if hasattr(a, 'fill_') else a.fill(value)
    torch.cuda.synchronize(); cp.cuda.runtime.deviceSynchronize()

def values(a):
    if isinstance(a, jax.Array): a = a + 0  # arrays remember what they showed
    torch.cuda.synchronize(); cp.cuda.runtime.deviceSynchronize()
    if hasattr(a, 'cpu'): return a.cpu().numpy().reshape(-1).tolist()
    return (cp.asnumpy(a) if isinstance(a, cp.ndarray) else np.asarray(a)).reshape(-1).tolist()

class Versioned:
    "Only __dlpack__, with every argument."
    def __init__(self, a): self.a = a
    def __dlpack__(self, **request): return self.a.__dlpack__(**request)
    def __dlpack_device__(self): return self.a.__dlpack_device__()

class Legacy:
    "Only __dlpack__, as it was before versions."
    def __init__(self, a): self.a = a
    def __dlpack__(self, stream=None): return self.a.__dlpack__(stream=stream)
    def __dlpack_device__(self): return self.a.__dlpack_device__()

class Interface:
    "Only the CUDA Array Interface."
    def __init__(self, a): self.a = a
    @property
    def __cuda_array_interface__(self): return self.a.__cuda_array_interface__

def sleep(stream, seconds=0.3):
    "Keeps a stream busy."
    with torch.cuda.stream(torch.cuda.ExternalStream(stream)): torch.cuda._sleep(int(seconds * 1.7e9))
`);

const main = py.import('__main__');

export const address = (object: PyObject): bigint => BigInt(main.address(object));
export const write = (object: PyObject, value: number): void => {
  main.write(object, value);
};
export const values = (object: PyObject): number[] => [...main.values(object)] as number[];
export const sleep = (stream: bigint, seconds = 0.3): void => {
  main.sleep(stream, seconds);
};

export interface Peer {
  readonly name: string;
  make(): PyObject;
  /** Ways into JavaScript, by name. */
  readonly give: Record<string, (object: PyObject) => Tensor>;
  /** Ways out of it. */
  readonly take: Record<string, (tensor: Tensor) => PyObject>;
  readonly isMutable: boolean;
}

const give = {
  fromDLPack: (object: PyObject) => fromDLPack(object),
  versioned: (object: PyObject) => fromDLPack(main.Versioned(object)),
  legacy: (object: PyObject) => fromDLPack(main.Legacy(object)),
  'CUDA Array Interface': (object: PyObject) => asCudaArray(main.Interface(object)),
};

export const peers: readonly Peer[] = [
  {
    name: 'PyTorch',
    make: () => main.torch_array(),
    give,
    take: {
      'exchange API': (tensor) => py.tensor(tensor, main.torch.Tensor),
      from_dlpack: (tensor) => main.torch.from_dlpack(tensor),
      'from_dlpack, versioned': (tensor) => main.torch.from_dlpack(main.Versioned(tensor)),
      'CUDA Array Interface': (tensor) => main.torch.as_tensor(main.Interface(tensor), py.kwargs({ device: 'cuda' })),
    },
    isMutable: true,
  },
  {
    name: 'CuPy',
    make: () => main.cupy_array(),
    give,
    take: {
      'its class': (tensor) => py.tensor(tensor, main.cp.ndarray),
      from_dlpack: (tensor) => main.cp.from_dlpack(tensor),
      'from_dlpack, legacy': (tensor) => main.cp.from_dlpack(main.Legacy(tensor)),
      'CUDA Array Interface': (tensor) => main.cp.asarray(main.Interface(tensor)),
    },
    isMutable: true,
  },
  {
    name: 'JAX',
    make: () => main.jax_array(),
    give,
    take: { from_dlpack: (tensor) => main.jax.dlpack.from_dlpack(tensor) },
    isMutable: false,
  },
];

export { main };
