/** Cases for a producer whose tensors lie in memory of somebody else: a JavaScript buffer, or a WebAssembly memory. */

import { expect, must, passes, type Row, skip, thrown } from './case.js';
import { collectUntil, needGlobals } from './environment.js';
import { checkElements, flagsOf, type Producer, type ProducerContext, release } from './exports.js';
import { type NativeContext, taken } from './native/exports.js';
import { readStruct, type Struct } from './native/peer.js';
import { matrix } from './recipes.js';
import { checkManaged, dlpack, elementsOf, holds, IS_COPIED } from './reference.js';

type Wrapped = ArrayBuffer | SharedArrayBuffer | WebAssembly.Memory;

/** A buffer that holds the elements of the matrix. */
function filled<T extends ArrayBuffer | SharedArrayBuffer>(buffer: T, byteOffset = 0): T {
  new Uint8Array(buffer).set(matrix.bytes, byteOffset);
  return buffer;
}

/** A tensor of the library over this memory. */
function wrap({ producer }: ProducerContext, memory: Wrapped, byteOffset = 0): Producer {
  const tensor = passes('a tensor', () => producer.wrap?.(matrix, memory, byteOffset) ?? null);
  return (tensor ?? skip('the library wraps no such memory')) as Producer;
}

function sharedBuffer(): SharedArrayBuffer {
  needGlobals('SharedArrayBuffer');
  return filled(new SharedArrayBuffer(matrix.bytes.length));
}

function detach(buffer: ArrayBuffer): void {
  structuredClone(buffer, { transfer: [buffer] });
}

/** Exports a tensor over a buffer: what is written to the buffer shows in the export. */
function checkShared(context: ProducerContext, buffer: ArrayBuffer | SharedArrayBuffer): void {
  const tensor = wrap(context, buffer);
  const managed = checkManaged(passes('an export', () => tensor[dlpack]({ copy: false })));
  checkElements(managed);
  new Uint8Array(buffer)[0] = 0x3f;
  const [first] = elementsOf(managed);
  const flags = flagsOf(managed);
  release(managed);
  context.producer.dispose?.(tensor);
  expect(first === 0x3f && (flags & IS_COPIED) === 0, 'the memory of the buffer', 'received a copy');
}

/** Exports a tensor over a memory, which then grows. */
function checkGrowing(context: ProducerContext, request: object): void {
  needGlobals('WebAssembly');
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2 });
  filled(memory.buffer as ArrayBuffer, 256);
  const tensor = wrap(context, memory, 256);
  let answer: unknown;
  try {
    answer = tensor[dlpack](request);
  } catch (error) {
    if ('copy' in request) return;
    throw error;
  }
  const managed = checkManaged(answer, { followsMemory: 'memory' in request });
  memory.grow(1);
  checkElements(managed);
  release(managed);
  context.producer.dispose?.(tensor);
}

export const wrappedRows: readonly Row<ProducerContext>[] = [
  must('p.buffer.shares', '2.1', 'shares a JavaScript buffer that it wraps', (context) =>
    checkShared(context, filled(new ArrayBuffer(matrix.bytes.length))),
  ),
  must('p.buffer.shared', '2.1', 'shares a SharedArrayBuffer that it wraps', (context) =>
    checkShared(context, sharedBuffer()),
  ),
  must('p.buffer.grows', '4.2.1', 'keeps an export valid when the buffer grows', (context) => {
    const { resize } = ArrayBuffer.prototype as { resize?: (length: number) => void };
    if (resize === undefined) skip('this runtime has no resizable buffers');
    const type = ArrayBuffer as new (length: number, options: object) => ArrayBuffer;
    const buffer = filled(new type(24, { maxByteLength: 96 }));
    const tensor = wrap(context, buffer);
    const managed = checkManaged(passes('an export', () => tensor[dlpack]()));
    resize.call(buffer, 96);
    checkElements(managed);
    release(managed);
    context.producer.dispose?.(tensor);
  }),
  must('p.memory.grows', '4.2.2', 'keeps an export of a WebAssembly memory valid when that grows', (context) =>
    checkGrowing(context, {}),
  ),
  must('p.memory.follow', '4.5.1', 'exports a WebAssembly memory to a consumer that follows it', (context) =>
    checkGrowing(context, { memory: true }),
  ),
  must(
    'p.memory.share',
    '4.2.2',
    'refuses to share memory that grows, or shares it so that it stays valid',
    (context) => checkGrowing(context, { copy: false }),
  ),
];

/** The struct still holds the elements, and is released. */
function checkStruct({ peer }: NativeContext, struct: Struct): void {
  const found = readStruct(peer, struct);
  peer.release(struct.token);
  expect(holds(matrix, found), `the bytes ${matrix.bytes}`, `received ${found}`);
}

export const wrappedNativeRows: readonly Row<NativeContext>[] = [
  must('np.jsMemory', '7.6', 'copies a JavaScript buffer, which native code cannot keep', (context) => {
    const tensor = wrap(context, filled(new ArrayBuffer(matrix.bytes.length)));
    const struct = taken(context, tensor);
    checkStruct(context, struct);
    expect((struct.flags & IS_COPIED) !== 0, 'IS_COPIED', `flags are ${struct.flags}`);
  }),
  must('np.jsMemory.share', '7.6', 'refuses to share a JavaScript buffer with native code', (context) => {
    const tensor = wrap(context, filled(new ArrayBuffer(matrix.bytes.length)));
    thrown('an error', () => tensor[dlpack]({ native: 'only', copy: false }));
  }),
  must('np.jsMemory.detached', '7.6', 'keeps an export after the buffer was transferred', (context) => {
    needGlobals('structuredClone');
    const buffer = filled(new ArrayBuffer(matrix.bytes.length));
    const struct = taken(context, wrap(context, buffer));
    new Uint8Array(buffer).fill(0);
    detach(buffer);
    checkStruct(context, struct);
  }),
  must('np.jsMemory.shared', '7.6', 'keeps an export of a SharedArrayBuffer that was collected', async (context) => {
    const { struct, buffer } = (() => {
      const made = sharedBuffer();
      return { struct: taken(context, wrap(context, made)), buffer: new WeakRef(made) };
    })();
    await collectUntil(context.environment, () => buffer.deref() === undefined);
    checkStruct(context, struct);
  }),
];
