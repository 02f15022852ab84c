/** Buffers of TypeGPU: arrays of numbers and of vectors on a GPUDevice. */

import type { DType } from '../dtype.js';
import { LayoutError, UnsupportedDeviceError, UnsupportedDTypeError } from '../errors.js';
import { MAX_NDIM, sizeOf } from '../layout.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { readCount } from './fields.js';
import { gpuBuffers } from './gpu-buffers.js';
import { lend } from './lend.js';
import { type GPUAdaptOptions, gpuOption, type ToOptions } from './options.js';

/** A schema of TypeGPU. */
interface Schema {
  readonly type: string;
  /** Of an array. */
  readonly elementType?: Schema;
  readonly elementCount?: number;
}

/** The part of a TypeGPU buffer that the adapter uses. */
export interface TypeGPUBuffer {
  /** `'buffer'`. */
  readonly resourceType: string;
  /** The schema of the elements. */
  readonly dataType: {
    /** Its kind, such as `'array'`. */
    readonly type: string;
  };
  /** The GPUBuffer. */
  readonly buffer: object;
}

/** What makes TypeGPU buffers: a root, and the module `typegpu/data`. */
export interface TypeGPULibrary<B> {
  /** The root, as `tgpu.init()` returns it. */
  readonly root: {
    /** Its GPUDevice. */
    readonly device: object;
    /** Makes a typed buffer over a GPUBuffer. */
    createBuffer(schema: never, buffer: never): B;
  };
  /** The schemas: `import * as d from 'typegpu/data'`. */
  readonly d: {
    /** Returns the schema of an array. */
    arrayOf(schema: never, length: number): unknown;
  };
}

/** WGSL's scalars, by the letter that vectors have. */
const scalars: Readonly<Record<string, DType>> = { f: 'float32', h: 'float16', i: 'int32', u: 'uint32' };
/** What TypeGPU calls them. */
const schemas: Readonly<Record<string, string>> = { float32: 'f32', float16: 'f16', int32: 'i32', uint32: 'u32' };

export const typeGPUAdapter: Adapter = {
  name: 'TypeGPU',
  object: 'a buffer of TypeGPU',
  get dtypes() {
    return Object.values(scalars);
  },
  is: isTypeGPU,
  from: fromTypeGPU,
  to: toTypeGPU,
};

export function isTypeGPU(value: object): value is TypeGPUBuffer {
  const { resourceType, dataType } = value as TypeGPUBuffer;
  return resourceType === 'buffer' && typeof dataType?.type === 'string';
}

/**
 * A tensor over the GPUBuffer of a TypeGPU buffer, with its shape: `fromTypeGPU(buffer, { gpuDevice: root.device })`. An array of
 * vectors has an axis for their elements. The buffer stays yours: do not destroy it before the tensor.
 */
export function fromTypeGPU(value: TypeGPUBuffer, options?: GPUAdaptOptions): Tensor {
  return takeObject({
    adapter: typeGPUAdapter,
    value,
    options,
    ownOptions: gpuOption,
    read: () => {
      const shape: number[] = [];
      let schema = value.dataType as Schema;
      while (schema.type === 'array' && schema.elementType !== undefined) {
        shape.push(readCount(schema.elementCount as number, 'elementCount'));
        if (shape.length > MAX_NDIM) throw new LayoutError(`Expected at most ${MAX_NDIM} axes`);
        schema = schema.elementType;
      }
      const scalar = Object.keys(schemas).find((name) => schemas[name] === schema.type) as DType | undefined;
      const [, length, letter = ''] = /^vec([234])([fhiu])$/.exec(schema.type) ?? [];
      const dtype = scalar ?? scalars[letter];
      if (dtype === undefined) {
        throw new UnsupportedDTypeError(
          schema.type,
          `Expected an array of numbers or vectors but received '${schema.type}'; use fromGPUBuffer(root.unwrap(buffer), { dtype, shape, strides })`,
        );
      }
      // In an array a vector of three takes the room of four.
      const isPadded = length === '3' && shape.length > 0;
      if (length !== undefined) shape.push(isPadded ? 4 : Number(length));
      const read = () => value.buffer as GPUBufferLike;
      const tensor = gpuBuffers().borrow({ read, dtype, shape, release: () => keep(value), options });
      return isPadded ? withoutLast(tensor) : tensor;
    },
  });
}

/** The release of a tensor refers to the buffer, which therefore lives as long as the tensor. */
function keep(_value: TypeGPUBuffer): void {}

/** Without the fourth element of each vector. */
function withoutLast(tensor: Tensor): Tensor {
  try {
    return tensor.slice(...tensor.shape.slice(1).map(() => null), [0, 3]);
  } finally {
    tensor.dispose();
  }
}

/**
 * A TypeGPU buffer over the GPUBuffer of a tensor, whose schema has an array for each axis:
 * `toTypeGPU(x, { root, d })`, with `import * as d from 'typegpu/data'`.
 */
export function toTypeGPU<B extends object>(source: DLPackSource, library: TypeGPULibrary<B>, options?: ToOptions): B {
  return lend({
    adapter: typeGPUAdapter,
    source,
    library: { value: library, property: 'root', usage: 'toTypeGPU(x, { root, d }), with typegpu/data' },
    options,
    make: ({ tensor: { device } }) => {
      throw new UnsupportedDeviceError(
        device,
        `Expected a tensor on 'webgpu' but this one is on '${device}'; copy it there: x.to(root.device)`,
      );
    },
    makeOnGpu: (tensor) => {
      const { root, d } = library;
      const { dtype, shape, nbytes } = tensor;
      const need = { library: typeGPUAdapter.name, size: Math.ceil(nbytes / 4) * 4, gpuDevice: root.device };
      let schema = (d as never as Record<string, unknown>)[schemas[dtype] as string];
      for (const length of sizeOf(shape) > 0 ? shape.toReversed() : [1]) schema = d.arrayOf(schema as never, length);
      return gpuBuffers().lend(tensor, need, options, ({ gpuBuffer, keepFor }) => {
        const made = root.createBuffer(schema as never, gpuBuffer as never);
        keepFor(made);
        return made;
      });
    },
  });
}
