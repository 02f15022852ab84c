/** A producer as another library would write it, which counts what its consumers do. */

import { DLPACK, type DLPackRequest, type ManagedTensor } from 'dlpack';

/** What `change` overrides or, with undefined, leaves out. */
export type Change = Partial<Record<keyof ManagedTensor, unknown>>;

export interface Exchange {
  readonly array: Float32Array;
  deleted: number;
  receivers: unknown[];
  request: DLPackRequest | null | undefined;
}

/** Six float32 values of shape [2, 3]. */
export function producer(change: Change = {}) {
  const array = new Float32Array([1, 2, 3, 4, 5, 6]);
  const record: Exchange = { array, deleted: 0, receivers: [], request: undefined };
  const object = {
    [DLPACK](request?: DLPackRequest | null): ManagedTensor {
      record.request = request;
      const managed: Record<string, unknown> = {
        version: [1, 3],
        flags: 0,
        data: array.buffer,
        byteOffset: 0,
        shape: [2, 3],
        strides: [3, 1],
        dtype: { code: 2, bits: 32, lanes: 1 },
        device: { type: 1, id: 0 },
        deleter(this: unknown, ...args: unknown[]) {
          record.deleted++;
          record.receivers.push(this, ...args);
        },
        ...change,
      };
      for (const name of Object.keys(change)) {
        if (change[name as keyof ManagedTensor] === undefined) delete managed[name];
      }
      return managed as unknown as ManagedTensor;
    },
  };
  return { object, record };
}
