/** Programs that try to make native code follow a dangling pointer. Each of them once crashed. */

import { DLPACK, type DLPackRequest, isDLPackError, Tensor } from 'dlpack';
import {
  type FFIFunction,
  FFIObject,
  getGlobalFunc,
  loadModule,
  RValue,
  registerGlobalFunc,
  removeGlobalFunc,
} from 'dlpack/tvm-ffi';
import { collect } from '../../../harness.js';
import { kernelsPath, probe, testing } from '../peer.js';

const LENGTH = 1 << 20;
const addOne = loadModule(kernelsPath).add_one as FFIFunction;

/** A tensor over JavaScript memory, and a function that detaches the memory. */
function lent(how: string): { x: Tensor<'float32'>; take: () => void } {
  const Resizable = ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer & { resize(n: number): void };
  const buffer = new Resizable(LENGTH * 4, { maxByteLength: LENGTH * 4 });
  const take = () => {
    if (how === 'resize') buffer.resize(0);
    else structuredClone(buffer, { transfer: [buffer] });
    (globalThis as { gc?: () => void }).gc?.();
  };
  return { x: Tensor.wrap(new Float32Array(buffer)), take };
}

function outcome(action: () => unknown): string {
  try {
    return `returned ${String(action())}`;
  } catch (error) {
    if (!isDLPackError(error)) return `not ours: ${String(error)}`;
    return error.message.includes('detached') ? 'taken away' : `${error.tag}: ${error.message.slice(0, 60)}`;
  }
}

const results: Record<string, string> = {};

for (const how of ['resize', 'detach']) {
  const y = Tensor.zeros([LENGTH], 'float32');
  const first = lent(how);
  const evil = {
    [DLPACK](request: DLPackRequest) {
      first.take();
      return y[DLPACK](request);
    },
  };
  results[`${how} by a later argument`] = outcome(() => addOne(first.x, evil));

  const second = lent(how);
  results[`${how} by a callback`] = outcome(() =>
    probe('invoke_times')((view: Tensor<'float32'>) => view.get(0) + Number(second.take() ?? 0), 2, second.x, 0, 0),
  );
}

results['a view in a container'] = outcome(() => probe('keep')([Tensor.wrap(new Float32Array(4))]));
results['the result of a function'] = outcome(() =>
  testing('apply')(() => ({ [DLPACK]: () => Tensor.wrap(new Float32Array(4))[DLPACK]() })),
);
results['a view of native memory in a container'] = outcome(() => probe('keep')([Tensor.zeros([4], 'int8').view()]));

for (let i = 0; i < 10; i++) {
  testing('nop')([new RValue([1, 2])], [1, 2, 3, 4, 5, 6], [7, 8, 9, 1, 1, 1]);
  testing('apply')(() => new RValue([new RValue(['a longer string'])]), [1, 2, 3], [4, 5, 6]);
  testing('nop')(
    { [DLPACK]: () => producerThatCalls([new RValue([3])]) },
    new RValue([new RValue(['another longer string'])]),
    new Map([[1, new RValue([2])]]),
  );
}
results.rvalues = 'alive';

for (let i = 0; i < 10; i++) {
  testing('nop')(...Array.from({ length: 300 }, (_, j) => (j % 2 === 0 ? new RValue([j]) : `a longer string ${j}`)));
}
results['rvalues among more arguments than slots'] = 'alive';

/** A managed tensor whose deleter uses the slots of the call that is about to end. */
function producerThatCalls(argument: unknown): object {
  const managed = Tensor.wrap(new Uint8Array(4))[DLPACK]();
  return { ...managed, deleter: () => testing('nop')(1, 2, 3, 4, 5, 6, argument) };
}

// TypeScript hides the constructor.
const Forged = FFIObject as unknown as new (handle: object) => FFIObject;
results['a forged object'] = outcome(() => testing('echo')(new Forged({ pointer: 1e-310, type: 64 })));

const types = [3, 64]; // a float, then an object
const plain = {
  bits: 0x3ff0000000000000n,
  get type() {
    return types.shift();
  },
};
results['a type that changes'] = outcome(() => testing('echo')({ [Symbol.for('tvm_ffi.object')]: () => plain }));

const registered = outcome(() =>
  registerGlobalFunc('dlpack.test.hostile', () => 42, {
    get override() {
      getGlobalFunc('no.such.function', { allowMissing: true }); // leaves no function in the slot
      return true;
    },
  }),
);
results['a getter while a function is registered'] = registered.startsWith('returned')
  ? outcome(() => getGlobalFunc('dlpack.test.hostile')())
  : registered;
removeGlobalFunc('dlpack.test.hostile');

await collect();
console.log(JSON.stringify(results));
