import { Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import {
  callAsync,
  DataType,
  type FFIFunction,
  fromNDAlloc,
  loadModule,
  Shape,
  TVMFFIError,
  withStream,
} from 'dlpack/tvm-ffi';
import { equal, ok, rejection, throws } from '../../assert.js';
import { runChild } from '../../child.js';
import { collectUntil, testWith } from '../../harness.js';
import { caught, kernelsMissing, kernelsPath, probe, testing } from './peer.js';

testWith(kernelsMissing, 'a kernel on another thread writes into our memory while other kernels run', async () => {
  const addOne = loadModule(kernelsPath).add_one as FFIFunction;
  const tensors = Array.from({ length: 20 }, (_, i) => Tensor.from([i, i], { dtype: 'float32' }));
  const pending = tensors.map((x) => callAsync(addOne, x, x));
  equal(testing('add_one')(1), 2);
  // Far more pending calls than the wire has slots.
  const echo = testing('echo');
  const many = Array.from({ length: 3000 }, (_, i) => callAsync(echo, i));
  equal((await Promise.all(many)).at(-1), 2999);
  await Promise.all(pending);
  equal(
    tensors.map((x) => x.get(1)),
    tensors.map((_, i) => i + 1),
  );
});

testWith(kernelsMissing, 'results and errors of all kinds arrive', async () => {
  const echo = testing('echo');
  equal(await callAsync(echo, 5), 5);
  equal(await callAsync(echo, 'a string of some length'), 'a string of some length');
  equal(await callAsync(echo, [1, 'two', null]), [1, 'two', undefined]);
  const x = Tensor.from([1, 2], { dtype: 'float32' });
  equal(addressOf((await callAsync(echo, x)) as Tensor), addressOf(x));
  const made = (await callAsync(probe('allocate'), new Shape([3]), new DataType('int8'))) as Tensor;
  equal(made.nbytes, 3);
  const error = await rejection<Error>(callAsync(loadModule(kernelsPath).fail as FFIFunction, 'as asked'));
  ok(error instanceof TVMFFIError && error.kind === 'ValueError' && error.message === 'as asked');
  equal(testing('add_one')(1), 2);
});

testWith(
  kernelsMissing,
  'an error keeps its native error: others have their own, and it can be thrown again',
  async () => {
    const fail = loadModule(kernelsPath).fail as FFIFunction;
    const errors: Error[] = [];
    for (let i = 0; i < 20; i++) errors.push(await rejection<Error>(callAsync(fail, `error ${i}`)));
    equal(
      errors.map(({ message }) => message),
      errors.map((_, i) => `error ${i}`),
    );
    for (const error of errors) {
      const again = caught(() =>
        testing('apply')(() => {
          throw error;
        }),
      );
      ok(again === error);
    }
  },
);

testWith(
  kernelsMissing,
  'tensors that are disposed meanwhile stay alive for the call and are released after it',
  async () => {
    const before = liveCounts().storages;
    const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
    const sum = callAsync(probe('sum_owned'), x);
    x.dispose();
    equal(await sum, 6);
    ok(await collectUntil(() => liveCounts().storages <= before));
  },
);

testWith(
  kernelsMissing,
  'the call has the stream on the other thread, and the stream is restored there afterwards',
  async () => {
    const memory = Tensor.zeros([1], 'float32');
    const allocator = { allocData: () => addressOf(memory), freeData() {} };
    const x = fromNDAlloc(allocator, [1], 'float32', 'cuda:2');
    const inside = withStream('cuda:2', 0x55n, () => callAsync(probe('stream_of'), x));
    equal(await inside, 0x55);
    equal(await callAsync(probe('stream_of'), x), 0);
  },
);

testWith(kernelsMissing, 'a signal stops the waiting, before the call and during it', async () => {
  const reason = { why: 'enough' };
  const echo = testing('echo');
  ok((await rejection(callAsync.with({ signal: AbortSignal.abort(reason) })(echo, 1))) === reason);
  const controller = new AbortController();
  const pending = callAsync.with({ signal: controller.signal })(echo, 1);
  controller.abort(reason); // before the event loop settles the call
  ok((await rejection(pending)) === reason);
  equal(await callAsync.with({ signal: new AbortController().signal })(echo, 2), 2);
  throws('TypeError', 'an AbortSignal for signal', () => callAsync.with({ signal: 5 as never }));
  throws('TypeError', "did you mean 'signal'?", () => callAsync.with({ singal: 5 } as never));
});

testWith(kernelsMissing, 'arguments that another thread cannot use are refused', async () => {
  const wrapped = await rejection<Error>(callAsync(probe('sum_view'), Tensor.wrap(new Float32Array(2))));
  ok(wrapped.message.includes('may keep for an asynchronous call'), wrapped.message);
  const x = Tensor.zeros([1], 'float32');
  ok((await rejection<Error>(callAsync(probe('sum_view'), x.view()))).message.includes('asynchronous call'));
  const callback = await rejection<Error>(callAsync(testing('apply'), () => 1));
  ok(callback.message.includes('on the JavaScript thread'), callback.message);
  ok((await rejection<Error>(callAsync(() => 1))).message.includes('a native function'));
  equal(await callAsync(testing('echo'), 1), 1);
});

testWith(kernelsMissing, 'a full wire leaves nothing behind, and a call that ends meanwhile settles later', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/full-wire.js');
  equal(
    [code, signal, output],
    [0, null, 'BufferError 0\ninside\nDisposedError\nRecursionError 0\na string of some length\n'],
  );
});
