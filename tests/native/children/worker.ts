/** A worker that keeps one tensor and runs the commands it gets. */

import { parentPort } from 'node:worker_threads';
import { isDLPackError, Tensor } from 'dlpack';
import { leaks, setDebug } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
import { openTensor, shareTensor, type TensorToken } from 'dlpack/shared';
import { fromNDAlloc } from 'dlpack/tvm-ffi';
import { peer } from '../peer.js';

export interface Task {
  do: 'keep' | 'get' | 'set' | 'dispose' | 'make' | 'adopt' | 'export' | 'hoard' | 'hoard-adopted' | 'queue' | 'trace';
  token?: TensorToken;
  index?: number[];
  value?: number;
  address?: bigint;
  shape?: number[];
  count?: number;
}

export interface Reply {
  address?: bigint;
  addresses?: BigUint64Array;
  shape?: readonly number[];
  strides?: readonly number[];
  value?: unknown;
  token?: TensorToken;
  error?: string;
}

let kept: Tensor<'float32'> | undefined;
const hoard: unknown[] = [];

function answer(task: Task): Reply {
  const { index = [], value = 0, shape = [], count = 0 } = task;
  switch (task.do) {
    case 'keep':
      kept = openTensor(task.token as TensorToken, { dtype: 'float32' });
      return { address: addressOf(kept), shape: kept.shape, strides: kept.strides };
    case 'get':
      return { value: kept?.get(...index) };
    case 'set':
      kept?.set(...index, value);
      return {};
    case 'dispose':
      kept?.dispose();
      return {};
    case 'make': {
      const x = Tensor.zeros(shape, 'float32');
      x.fill(value);
      hoard.push(x);
      return { address: addressOf(x), token: shareTensor(x) };
    }
    case 'adopt': {
      const array = new Float32Array(shape[0] as number).fill(value);
      let error = '';
      try {
        exportManaged(Tensor.wrap(array), { copy: false });
      } catch (thrown) {
        error = isDLPackError(thrown) ? thrown.tag : String(thrown);
      }
      const x = Tensor.adopt(array);
      hoard.push(x);
      return { error, token: shareTensor(x) };
    }
    case 'export': {
      const x = Tensor.zeros(shape, 'float32');
      x.fill(value);
      return { address: exportManaged(x) };
    }
    case 'hoard': {
      const addresses = new BigUint64Array(count);
      for (let i = 0; i < count; i++) {
        const imported = importManaged(peer.makeVersioned({ shape: [4n] }));
        const own = Tensor.zeros([64], 'uint8');
        own.set(0, 9);
        addresses[i] = exportManaged(own);
        hoard.push(imported, own, i % 2 === 0 ? imported.data : null);
      }
      return { addresses };
    }
    // Memory whose release calls JavaScript on this thread, released right before the thread ends, or never.
    case 'queue': {
      const allocator = { allocData: () => task.address as bigint, freeData: () => {} };
      for (let i = 0; i < count; i++) {
        const x = fromNDAlloc(allocator, [4], 'uint8');
        if (i % 2 === 0) x.dispose();
        else hoard.push(x, x.data);
      }
      return {};
    }
    case 'trace': {
      setDebug(true);
      const x = Tensor.zeros([1], 'uint8');
      const addresses = new BigUint64Array(count);
      for (let i = 0; i < count; i++) addresses[i] = exportManaged(x);
      return { addresses, value: leaks().find(({ kind }) => kind === 'export')?.count };
    }
    case 'hoard-adopted': {
      const addresses = new BigUint64Array(count);
      for (let i = 0; i < count; i++) {
        const x = Tensor.adopt(new Uint8Array(64).fill(5));
        hoard.push(x, x.data);
        addresses[i] = exportManaged(x);
      }
      return { addresses };
    }
  }
}

parentPort?.on('message', (task: Task) => parentPort?.postMessage(answer(task)));
