/** Cases for a producer: how long the memory of an export lives, and what its deleter must tolerate. */

import type { ManagedTensor } from '../protocol/managed.js';
import { expect, must, passes, type Row, skip, thrown } from './case.js';
import { collectUntil, needGlobals } from './environment.js';
import { checkElements, exportedBytes, makeTensor, type ProducerContext, release, withExport } from './exports.js';
import { checkManaged, dlpack, elementsOf } from './reference.js';

const deleterOf = ({ deleter }: ManagedTensor): (() => void) =>
  deleter ?? skip('its exports have no deleter: the collector keeps their memory');

/** Ends the tensor itself, or skips. */
function dispose({ producer }: ProducerContext, tensor: object): void {
  if (producer.dispose === undefined) skip('its tensors cannot be disposed');
  producer.dispose(tensor);
}

export const producerLifetimeRows: readonly Row<ProducerContext>[] = [
  must('p.fresh', '5.1', 'answers each request with a managed tensor of its own, unless it has no deleter', (context) =>
    withExport(context, undefined, (first, tensor) => {
      const second = checkManaged(tensor[dlpack]());
      release(second);
      expect(first !== second || first.deleter == null, 'another managed tensor', 'received the same again');
    }),
  ),
  must('p.unchanged', '3.1', 'does not change a managed tensor after it returned it', (context) =>
    withExport(context, undefined, (managed, tensor) => {
      const text = () => JSON.stringify(managed, (_, value) => (typeof value === 'bigint' ? `${value}n` : value));
      const before = text();
      release(checkManaged(tensor[dlpack]({ copy: true })));
      release(checkManaged(tensor[dlpack]()));
      expect(text() === before, before, `it became ${text()}`);
    }),
  ),
  must('p.exports.two', '5.4', 'keeps one export alive after another was released', (context) =>
    withExport(context, undefined, (first, tensor) => {
      release(checkManaged(tensor[dlpack]()));
      checkElements(first);
    }),
  ),
  must('p.deleter.twice', '5.3', 'tolerates a second call of its deleter', (context) => {
    const tensor = makeTensor(context);
    const [first, second] = [checkManaged(tensor[dlpack]()), checkManaged(tensor[dlpack]())];
    const deleter = deleterOf(first);
    passes('a deleter that returns', () => deleter.call(first));
    passes('a second call that does nothing', () => deleter.call(first));
    context.producer.dispose?.(tensor);
    // Had the second call released anything, the other export would have lost its memory.
    checkElements(second);
    release(second);
  }),
  must('p.deleter.receiver', '5.3', 'tolerates a deleter that is called without its managed tensor', (context) => {
    const tensor = makeTensor(context);
    const deleter = deleterOf(checkManaged(tensor[dlpack]()));
    passes('a deleter that returns', () => deleter());
    context.producer.dispose?.(tensor);
  }),
  must('p.deleter.nested', '5.3', 'tolerates a deleter that is called while it exports', (context) => {
    const tensor = makeTensor(context);
    const first = checkManaged(tensor[dlpack]());
    const deleter = deleterOf(first);
    const request = {
      get copy() {
        deleter();
        return null;
      },
    };
    const second = checkManaged(passes('an export', () => tensor[dlpack](request)));
    checkElements(second);
    release(second);
    context.producer.dispose?.(tensor);
  }),
  must('p.deleter.afterDispose', '5.3', 'tolerates its deleter after its tensor was disposed', (context) => {
    const tensor = makeTensor(context);
    const managed = checkManaged(tensor[dlpack]());
    const deleter = deleterOf(managed);
    dispose(context, tensor);
    passes('a deleter that returns', () => deleter.call(managed));
  }),
  must('p.lifetime.dispose', '5.4', 'keeps the memory of an export after its tensor was disposed', (context) => {
    const tensor = makeTensor(context);
    const managed = checkManaged(tensor[dlpack]());
    dispose(context, tensor);
    checkElements(checkManaged(managed));
    exportedBytes(managed)[managed.byteOffset] = 0x3f;
    expect(elementsOf(managed)[0] === 0x3f, 'memory that can be written', 'the write is lost');
    release(managed);
  }),
  must(
    'p.lifetime.collected',
    '5.4',
    'keeps the memory of an export after its tensor was collected',
    async (context) => {
      needGlobals('WeakRef');
      const { managed, tensor } = (() => {
        const made = makeTensor(context);
        return { managed: checkManaged(made[dlpack]()), tensor: new WeakRef(made) };
      })();
      await collectUntil(context.environment, () => tensor.deref() === undefined);
      checkElements(checkManaged(managed));
      release(managed);
    },
  ),
  must('p.lifetime.data', '5.7', 'keeps the memory while only data and the deleter are held', async (context) => {
    needGlobals('WeakRef');
    const { data, deleter, first, managed } = (() => {
      const made = checkManaged(makeTensor(context)[dlpack]());
      return { data: made.data, deleter: made.deleter, first: made.byteOffset, managed: new WeakRef(made) };
    })();
    await collectUntil(context.environment, () => managed.deref() === undefined);
    const bytes = passes('memory that can be read', () => new Uint8Array(data as ArrayBuffer));
    const received = bytes[first];
    deleter?.();
    expect(received === 11, 'the first byte 11', `received ${received}`);
  }),
  must('p.disposed', '6.1', 'refuses to export a disposed tensor', (context) => {
    const tensor = makeTensor(context);
    dispose(context, tensor);
    thrown('an error', () => tensor[dlpack]());
  }),
];
