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
 * Makes a tensor over the GPUBuffer of a TypeGPU buffer, with its shape. An array of vectors has an axis for their
 * elements. The buffer stays yours: do not destroy it before the tensor.
 *
 * @param value - A buffer of TypeGPU with an array of numbers or vectors.
 * @param options - The GPUDevice of the buffer (`gpuDevice`), which is `root.device`. Whether to copy (`copy`; when
 *   absent, only where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the GPUBuffer, or a copy in one.
 * @throws ArgumentTypeError for anything but a buffer of TypeGPU, and without `gpuDevice`.
 * @throws UnsupportedDTypeError for a schema that is no array of numbers or vectors.
 * @throws LayoutError for arrays that are nested deeper than a tensor can be.
 * @throws ForeignError if TypeGPU fails.
 * @example
 * ```ts fragment: needs a GPUDevice
 * import { fromTypeGPU } from 'dlpack/adapters';
 * const x = fromTypeGPU(root.createBuffer(d.arrayOf(d.vec4f, 10)).$usage('storage'), { gpuDevice: root.device });
 * ```
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
 * Makes a TypeGPU buffer over the GPUBuffer of a tensor, whose schema has an array for each axis.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param library - The root and the schemas: `{ root, d }`, with `import * as d from 'typegpu/data'`.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns A buffer that shares the GPUBuffer, or has a copy on the same device where the tensor does not fit.
 * @throws ArgumentTypeError for anything but a tensor and `{ root, d }`.
 * @throws UnsupportedDTypeError for a dtype that TypeGPU does not have.
 * @throws UnsupportedDeviceError for a tensor that is not on the GPUDevice of the root.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if TypeGPU fails.
 * @example
 * ```ts fragment: needs a GPUDevice
 * import { toTypeGPU } from 'dlpack/adapters';
 * import * as d from 'typegpu/data';
 * const buffer = toTypeGPU(x, { root, d }).$usage('storage');
 * ```
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
