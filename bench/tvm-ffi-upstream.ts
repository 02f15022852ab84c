/**
 * The rows of upstream's benchmark (apache/tvm-ffi, tests/scripts/benchmark_dlpack.py and benchmark_pycallback.py),
 * under their names: the same operations here, and the figures published for other machines.
 */

import { createRequire } from 'node:module';
import { DLPACK, DLPACK_DEVICE, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { type FFIFunction, toFunction } from 'dlpack/tvm-ffi';

type Batch = (n: number) => void;

export interface UpstreamRow {
  /** The operation in Node; absent if upstream measures another library's operation. */
  readonly here?: { readonly what: string; readonly batch: Batch };
  /** Nanoseconds as published: Python in apache/tvm#17927, Python and Julia in TVMFFI.jl. */
  readonly published?: readonly [python2025?: number, python?: number, julia?: number];
}

export const sources = `Published figures are other people's, for other machines, as they gave them: the first column is the benchmark's own author in
apache/tvm#17927 (May 2025, AMD Ryzen 9 7950X, before the exchange API); the other two are lucifer1004/TVMFFI.jl at f7de738 (November
2025, a machine with an NVIDIA RTX 5000 Ada): Python from \`benchmarks/bench_example.jl\`, Julia from \`benchmarks/README.md\`.`;

// A copy, because V8 stores an object with many properties from native code as a hash table, which each call would search.
const peer = {
  ...(createRequire(import.meta.url)('../native/peer.node') as {
    makeLean(): bigint;
    deleteVersioned(address: bigint): void;
    deleteLegacy(address: bigint): void;
  }),
};

/** A tensor of another JavaScript library, according to docs/spec.md. */
function producer(array: Float32Array<ArrayBuffer>): object {
  return {
    [DLPACK]: (): ManagedTensor => ({
      version: [1, 3],
      flags: 0,
      data: array.buffer,
      byteOffset: 0,
      shape: [array.length],
      strides: [1],
      dtype: { code: 2, bits: 32, lanes: 1 },
      device: { type: 1, id: 0 },
    }),
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  };
}

const three = <T>(make: () => T): [T, T, T] => [make(), make(), make()];

/** Calls nop with three tensors that are made before and disposed after the call. */
function fresh(nop: FFIFunction, make: (index: number) => Tensor): Batch {
  return (n) => {
    for (let i = 0; i < n; i++) {
      const a = make(0);
      const b = make(1);
      const c = make(2);
      nop(a, b, c);
      a.dispose();
      b.dispose();
      c.dispose();
    }
  };
}

export function upstreamRows(nop: FFIFunction, invokeTimes: FFIFunction): Record<string, UpstreamRow> {
  const [x, y, z] = three(() => Tensor.from(new Float32Array(1)));
  const tensors = [x, y, z];
  const arrays = three(() => new Float32Array(1));
  const [ax, ay, az] = arrays.map((array) => Tensor.wrap(array));
  const [vx, vy, vz] = tensors.map((tensor) => tensor.view());
  const [px, py, pz] = arrays.map(producer);
  const ignore = toFunction((a: Tensor, b: Tensor, c: Tensor) => {
    a.dispose();
    b.dispose();
    c.dispose();
  });
  return {
    'numpy.add': { published: [192, 207, 3] },
    'torch.add[cpu]': { published: [633, 544] },
    'tvm_ffi.nop+from_dlpack(torch)': {
      here: {
        what: 'three tensors (2 by 3) of another addon taken in',
        batch: fresh(nop, () => importManaged(peer.makeLean())),
      },
      published: [4368],
    },
    'tvm_ffi.nop+from_dlpack(numpy)': {
      here: {
        what: '`Tensor.wrap` of three typed arrays',
        batch: fresh(nop, (i) => Tensor.wrap(arrays[i] as Float32Array)),
      },
      published: [1169],
    },
    'tvm_ffi.nop+from_dlpack(tvm)': {
      here: { what: '`fromDLPack` of three own tensors', batch: fresh(nop, (i) => fromDLPack(tensors[i] as Tensor)) },
      published: [1458],
    },
    'tvm_ffi.nop+from_dlpack(torch.utils)': { published: [3275] },
    'tvm_ffi.nop.autodlpack(torch[cpu])': {
      here: {
        what: 'three objects of the JavaScript protocol',
        batch: (n) => {
          for (let i = 0; i < n; i++) nop(px, py, pz);
        },
      },
      published: [3567],
    },
    'tvm_ffi.nop.autodlpack(numpy)': {
      here: {
        what: 'three wrapped typed arrays',
        batch: (n) => {
          for (let i = 0; i < n; i++) nop(ax, ay, az);
        },
      },
      published: [1670, 298, 30],
    },
    'tvm_ffi.nop.autodlpack(DLTensorTestWrapper[cpu])': {
      here: {
        what: 'three views',
        batch: (n) => {
          for (let i = 0; i < n; i++) nop(vx, vy, vz);
        },
      },
    },
    'tvm_ffi.nop.autodlpack(NamedTuple[cpu])': {
      here: {
        what: 'an array of three tensors',
        batch: (n) => {
          for (let i = 0; i < n; i++) nop(tensors);
        },
      },
    },
    'tvm_ffi.nop': {
      here: {
        what: 'three tensors',
        batch: (n) => {
          for (let i = 0; i < n; i++) nop(x, y, z);
        },
      },
      published: [398, 72, 47],
    },
    'torch.utils.dlpack.to_dlpack': {},
    'torch.__dlpack__': {},
    'numpy.__dlpack__': {},
    'tvm.__dlpack__': {
      here: {
        what: '`exportManaged`, legacy, and its deleter',
        batch: (n) => {
          for (let i = 0; i < n; i++) peer.deleteLegacy(exportManaged(x, { versioned: false }));
        },
      },
    },
    'torch.__dlpack__(max_version=(1,1))': {},
    'numpy.__dlpack__(max_version=(1,1))': {},
    'tvm.__dlpack__(max_version=(1,1))': {
      here: {
        what: '`exportManaged` and its deleter',
        batch: (n) => {
          for (let i = 0; i < n; i++) peer.deleteVersioned(exportManaged(x));
        },
      },
    },
    'pycallback[tensor_cls=torch.Tensor]': {
      here: {
        what: 'a callback with three tensors, which it disposes',
        batch: (n) => void invokeTimes(ignore, n, x, y, z),
      },
    },
    'pycallback+from_dlpack': {},
  };
}

/** The names and published figures of the rows, without running anything. */
export function upstreamTable(): { name: string; what: string; published: readonly (number | undefined)[] }[] {
  const nothing = (() => undefined) as unknown as FFIFunction;
  return Object.entries(upstreamRows(nothing, nothing)).map(([name, { here, published = [] }]) => ({
    name,
    what: here?.what ?? '',
    published,
  }));
}
