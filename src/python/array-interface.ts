/**
 * The CUDA Array Interface of Python objects, read in one native call; entry by entry when something is out of the ordinary.
 *
 * @module
 */

import { MAX_NDIM } from '../layout.js';
import { releaseHandle as dropStorage } from '../native/native-storage.js';
import { enter, leave, wire } from '../native/wire.js';
import { TensorResult, WireHeader } from '../native/wire-layout.js';
import { takeTensorInto } from '../native/wire-tensor.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type ArrayEntries, type ForeignArray, setArrayReader } from '../storage/foreign.js';
import type { Storage } from '../storage/storage.js';
import { binding } from './binding.js';
import { COUNT, FIRST_WORD, frame, HANDLE as OBJECT, objectFrame, WORDS } from './frame.js';
import { importModule, isPyObject, type PyObject } from './object.js';
import { takeResult } from './operations.js';
import { PythonStorage } from './python-storage.js';
import { findReference, liveHandle } from './reference.js';

const { u32, f64 } = frame;

// The array frame is the end of the words. native/python/cuda_array.h is its twin.
const START = (FIRST_WORD + WORDS - 144) * 8;
const u64 = new BigUint64Array(objectFrame);
const POINTER = START / 8; // u64
const STREAM = START / 8 + 1; // u64
const TYPESTR = (START + 16) / 4; // u32, two of them
const NDIM = (START + 24) / 4; // u32
const VERSION = NDIM + 1;
const STORAGE = NDIM + 2;
const FLAGS = NDIM + 3;
const SHAPE = (START + 40) / 8; // f64
const STRIDES = SHAPE + MAX_NDIM;
const Flag = { readOnly: 1, hasStrides: 2, hasStream: 4, isPlain: 8 } as const;

/** Up to six bytes of text, by their value as a number. The grammar of type strings allows few. */
const texts = new Map<number, string>();

function readTypeString(): string {
  const low = u32[TYPESTR] as number;
  const high = u32[TYPESTR + 1] as number;
  const key = low + high * 4294967296;
  const known = texts.get(key);
  if (known !== undefined) return known;
  const bytes = new Uint8Array(objectFrame, START + 16, 6);
  const text = new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0) < 0 ? 6 : bytes.indexOf(0)));
  if (texts.size < 256) texts.set(key, text);
  return text;
}

function readDims(at: number, ndim: number): number[] {
  const dims = new Array<number>(ndim);
  for (let i = 0; i < ndim; i++) dims[i] = f64[at + i] as number;
  return dims;
}

function readPlain(): ArrayEntries {
  const flags = u32[FLAGS] as number;
  const ndim = u32[NDIM] as number;
  return {
    shape: readDims(SHAPE, ndim),
    typestr: readTypeString(),
    pointer: u64[POINTER] as bigint,
    isReadOnly: (flags & Flag.readOnly) !== 0,
    version: u32[VERSION] as number,
    strides: (flags & Flag.hasStrides) === 0 ? null : readDims(STRIDES, ndim),
    stream: (flags & Flag.hasStream) === 0 ? null : (u64[STREAM] as bigint),
    mask: null,
  };
}

/** Tuples and lists as arrays, integers of other kinds (NumPy's) as numbers; anything else as it is. */
function toValue(value: PyObject): unknown {
  if (!isPyObject(value)) return value;
  const { isinstance, hasattr, tuple, list } = importModule('builtins');
  if (isinstance(value, tuple) || isinstance(value, list)) return [...value].map(toValue);
  return hasattr(value, '__index__') ? importModule('operator').index(value) : value;
}

const names = ['shape', 'typestr', 'data', 'version', 'strides', 'descr', 'mask', 'stream'] as const;

/** A dict as an object with the entries of the interface; anything else as it is. */
function toEntries(dict: PyObject): unknown {
  const { isinstance, dict: type } = importModule('builtins');
  if (!isPyObject(dict) || !isinstance(dict, type)) return dict;
  return Object.fromEntries(names.map((name) => [name, name === 'mask' ? dict.get(name) : toValue(dict.get(name))]));
}

class PythonArray implements ForeignArray {
  readonly entries: ArrayEntries | null;
  readonly raw: unknown;
  private readonly handle: number;

  constructor(handle: number, entries: ArrayEntries | null, raw: unknown) {
    this.handle = handle;
    this.entries = entries;
    this.raw = raw;
  }

  hold(nbytes: number): Storage {
    return new PythonStorage(this.handle, nbytes);
  }

  drop(): void {
    dropStorage(this.handle);
  }
}

const makeStorage = (handle: number, nbytes: number): PythonStorage => new PythonStorage(handle, nbytes);

function readArray(source: object, isInterface: boolean): ForeignArray | null {
  const reference = findReference(source);
  if (reference === null) return null;
  u32[OBJECT] = liveHandle(reference);
  u32[COUNT] = isInterface ? 1 : 0;
  const text = binding().readArray();
  const handle = u32[STORAGE] as number;
  if (((u32[FLAGS] as number) & Flag.isPlain) !== 0) return new PythonArray(handle, readPlain(), null);
  try {
    return new PythonArray(handle, null, toEntries(takeResult(text)));
  } catch (error) {
    dropStorage(handle);
    throw error;
  }
}

/** The whole of {@link readArray} and of the checks that follow, for arrays as nearly all are; null for the others. */
function takeArray(source: object): Descriptor | null {
  const reference = findReference(source);
  if (reference === null) return null;
  u32[OBJECT] = liveHandle(reference);
  const slot = enter(TensorResult.WORDS);
  try {
    wire.u32[WireHeader.SLOT] = slot;
    binding().takeArray();
    return u32[COUNT] === 1 ? takeTensorInto(slot + TensorResult.TENSOR, makeStorage) : null;
  } finally {
    leave(slot);
  }
}

/** Tells the core how to read them. */
export function registerArrayReader(): void {
  setArrayReader(readArray, takeArray);
}
