/** Tensors of Python objects: every PyProxy becomes a producer of the protocol (docs/spec.md). */

import type { DLDevice } from '../device.js';
import { DisposedError } from '../errors.js';
import { DLPACK, DLPACK_DEVICE, type DLPackRequest } from '../protocol/managed.js';
import { produce } from '../protocol/produce.js';
import { readRequest } from '../protocol/request.js';
import type { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import type { Internals } from './internals.js';
import { readBuffer } from './py-buffer.js';
import type { Bridge, PyProxyLike } from './pyodide.js';

/** What bridge.py says about an address. */
const Kind = { versioned: 1, readonly: 2, buffer: 4 } as const;

/** The tensor of a Python object, which lives until the tensor is disposed. Python's errors pass through unchanged. */
function takeProxy(
  proxy: PyProxyLike,
  bridge: Bridge,
  { heap, isRaising }: Internals,
  dtypes: readonly string[],
): Tensor {
  const taken = bridge.take(proxy);
  const kind = taken % 8;
  const address = (taken - kind) / 8;
  const release = (): void => {
    // A deleter may call this while a Python error is on its way. Then Python gets its memory back a moment later.
    if (isRaising()) queueMicrotask(() => bridge.delete(address, kind));
    else bridge.delete(address, kind);
  };
  if ((kind & Kind.buffer) !== 0) return readBuffer(heap, address, dtypes, release);
  const [versioned, readonly] = [(kind & Kind.versioned) !== 0, (kind & Kind.readonly) !== 0];
  return heap.importManaged(address, { versioned, readonly, release });
}

/** Gives both methods of the protocol to all proxies of a Pyodide. `samples`: one of each kind of proxy. */
export function makeProducers(
  samples: readonly object[],
  bridge: Bridge,
  internals: Internals,
  dtypes: readonly string[],
): void {
  const methods = {
    [DLPACK](this: PyProxyLike, request?: DLPackRequest | null) {
      const wanted = readRequest(request);
      const tensor = takeLive(this, () => takeProxy(this, bridge, internals, dtypes));
      try {
        return produce(descriptorOf(tensor), wanted, true);
      } finally {
        tensor.dispose();
      }
    },
    [DLPACK_DEVICE]: (): DLDevice => ({ type: 1, id: 0 }),
  };
  for (const sample of samples) {
    for (const key of [DLPACK, DLPACK_DEVICE] as const) {
      Object.defineProperty(rootOf(sample), key, { value: methods[key], configurable: true, writable: true });
    }
  }
}

/** The prototype that all proxies of a kind have in common: the last one before those of the language. */
function rootOf(proxy: object): object {
  const language: unknown[] = [Object.prototype, Function.prototype, null];
  let root = proxy;
  for (let next = proxy; !language.includes(next); next = Object.getPrototypeOf(next)) root = next;
  return root;
}

function takeLive(proxy: PyProxyLike, take: () => Tensor): Tensor {
  try {
    return take();
  } catch (cause) {
    if (!isDestroyed(proxy)) throw cause;
    const text = 'Expected a live Python object but its proxy was destroyed; make another, or keep one with copy()';
    throw new DisposedError(text, { cause });
  }
}

/** Pyodide throws for every use of a destroyed proxy. */
function isDestroyed(proxy: PyProxyLike): boolean {
  try {
    return (proxy as { type?: string }).type === undefined;
  } catch {
    return true;
  }
}
