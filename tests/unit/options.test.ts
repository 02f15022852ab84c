import { ArgumentTypeError, DLPACK, expectTensor, fromDLPack, Tensor } from 'dlpack';
import { extents, hostMdspan, layoutRight, pointerTo, toDLPackTensor, toHostMdspan } from 'dlpack/mdspan';
import { equal, throws } from '../assert.js';
import { test } from '../harness.js';

const x = Tensor.from([1]);
const check = (options: object) => fromDLPack(x, options).dispose();

test('known options pass, whatever their values', () => {
  for (const options of [{}, { copy: undefined }, { device: 'cpu', copy: true, stream: null }, Object.create(null)])
    check(options);
  check(Object.create({ devise: 'inherited' })); // inherited, so not an option
  check({ [Symbol('devise')]: 1 });
});

test('an unknown option throws an error that names it and the nearest known option', () => {
  const error = throws('TypeError', '', () => check({ copy: true, devise: 'cuda:0' }));
  equal(
    error.message,
    "Expected device, copy, stream, dtype or shape for options but received 'devise' (string); did you mean 'device'?",
  );
  equal(error instanceof ArgumentTypeError && error.argument, 'options');
  for (const [given, meant] of [
    ['Copy', 'copy'],
    ['cpoy', 'copy'],
    ['steam', 'stream'],
    ['DEVICE', 'device'],
    ['de_vice', 'device'],
  ] as const) {
    throws('TypeError', `received '${given}' (string); did you mean '${meant}'?`, () => check({ [given]: 1 }));
  }
});

test('an unknown option that resembles no known option gets no suggestion', () => {
  for (const given of ['requireContiguous', 'constructor', '__proto__x', 'x'.repeat(1e6)]) {
    const { message } = throws('TypeError', 'Expected device, copy, stream, dtype or shape for options', () =>
      check({ [given]: 1 }),
    );
    equal(message.includes('did you mean'), false);
  }
  const own = JSON.parse('{ "__proto__": 1 }') as object;
  throws('TypeError', "received '__proto__'", () => check(own));
});

test('options that are not an object throw', () => {
  for (const options of [[2, 3], 'float32', 1, true, () => 1]) {
    throws('TypeError', 'Expected an object such as { copy: true } for options', () => check(options as object));
  }
});

const any = (options: object): never => options as never;
const array = () => new Float32Array(6);
const span = hostMdspan(array(), extents(6));
const calls: Record<string, [says: string, call: () => unknown]> = {
  from: ["received 'dType' (string); did you mean 'dtype'?", () => Tensor.from([1], any({ dType: 'int8' }))],
  wrap: ["received 'readOnly' (string); did you mean 'readonly'?", () => Tensor.wrap(array(), any({ readOnly: true }))],
  adopt: ["received 'shapes' (string); did you mean 'shape'?", () => Tensor.adopt(array(), any({ shapes: [6] }))],
  empty: ["received 'devise' (string)", () => Tensor.empty([1], 'int8', any({ devise: 'cuda' }))],
  zeros: ["received 'pad' (string)", () => Tensor.zeros([1], 'int8', any({ pad: true }))],
  reshape: ["Expected copy for options but received 'cpy'", () => x.reshape([1, 1], any({ cpy: false }))],
  fromDLPack: ["received 'requireContiguous' (string)", () => fromDLPack(x, any({ requireContiguous: true }))],
  expectTensor: ["did you mean 'writable'?", () => expectTensor(x, any({ writeable: true }))],
  pointerTo: ["Expected dtype or readonly for options but received 'size'", () => pointerTo(array(), any({ size: 1 }))],
  'pointerTo an address': ["did you mean 'deviceId'?", () => pointerTo(4096n, any({ dtype: 'int8', deviceID: 0 }))],
  hostMdspan: ["did you mean 'readonly'?", () => hostMdspan(array(), extents(6), any({ readOnly: true }))],
  toHostMdspan: [
    "did you mean 'layout'?",
    () => toHostMdspan(toDLPackTensor(span).get(), any({ dtype: 'float32', rank: 1, layot: layoutRight })),
  ],
};

for (const [name, [says, call]] of Object.entries(calls)) {
  test(`${name} refuses an option that it does not know`, () => {
    throws('TypeError', says, call);
  });
}

/** Options that a program would otherwise believe to be set. */
const notBoolean: Record<string, () => unknown> = {
  'readonly but received 1': () => Tensor.wrap(array(), any({ readonly: 1 })),
  "padded but received 'yes'": () => Tensor.empty([1], 'int4', any({ padded: 'yes' })),
  'readonly but received null': () => Tensor.wrap(array(), any({ readonly: null })),
  'copy but received 0': () => x.reshape([1, 1], any({ copy: 0 })),
  'writable but received 1': () => expectTensor(x, any({ writable: 1 })),
};

test('a boolean option takes only true, false and undefined', () => {
  for (const [says, call] of Object.entries(notBoolean)) throws('TypeError', `a boolean for ${says}`, call);
  throws('TypeError', "a boolean or null for copy but received 'no'", () => check({ copy: 'no' }));
  check({ copy: null });
  equal(Tensor.wrap(array(), any({ readonly: undefined, padded: false })).isReadOnly, false);
});

test('a protocol request must be an object, and unknown fields are ignored', () => {
  const managed = x[DLPACK](any({ copy: true, later: 1 })) as { deleter(): void };
  managed.deleter();
  throws('TypeError', 'an object such as { copy: true } for request', () => x[DLPACK]('copy' as never));
});

test('a stream is an object with a handle, a bigint or null', () => {
  const seen: unknown[] = [];
  const producer = {
    [DLPACK](request: { stream: bigint | null }) {
      seen.push(request.stream);
      return x[DLPACK]();
    },
  };
  for (const stream of [{ handle: 7n }, 7n, null, undefined]) fromDLPack(producer, any({ stream })).dispose();
  equal(seen, [7n, 7n, null, null]);
  for (const stream of [7, 'x', {}, { handle: 7 }]) {
    throws('TypeError', 'a Stream of dlpack/cuda, a bigint or null for stream', () =>
      fromDLPack(producer, any({ stream })),
    );
  }
  equal(seen.length, 4);
});

/** Options whose getters throw when they are read a second time. Not for booleans, which are read when they are checked. */
function once<T extends object>(values: T): T {
  const options = {} as T;
  for (const [name, value] of Object.entries(values)) {
    let isRead = false;
    const get = () => {
      if (isRead) throw new RangeError(`${name} was read twice`);
      isRead = true;
      return value;
    };
    Object.defineProperty(options, name, { get, enumerable: true });
  }
  return options;
}

test('each option is read once, so that the value that was checked is the value that is used', () => {
  const values = () => Float32Array.of(1, 2, 3, 4);
  const shape = [2, 2];
  const tensor = Tensor.from(values(), once({ dtype: 'float32', shape } as const));
  expectTensor(tensor, once({ dtype: 'float32', shape: [null, 2], device: 'cpu' } as const));
  expectTensor(tensor, once({ dtype: ['int8', 'float32'] } as const));
  equal(Tensor.wrap(values(), once({ dtype: 'int32', shape, strides: [2, 1], byteOffset: 0 } as const)).dtype, 'int32');
  equal(Tensor.adopt(values(), once({ dtype: 'int32', shape } as const)).dtype, 'int32');
  equal(Tensor.empty([1], 'int8', once({ device: 'cpu' } as const)).device, 'cpu');
  equal(fromDLPack(tensor, once({ device: 'cpu', stream: null } as const)).toArray(), tensor.toArray());
  equal(pointerTo(4096n, once({ dtype: 'int8', size: 2, deviceId: 0 } as const)).element.name, 'int8');
  equal(hostMdspan(values(), extents(4), once({ dtype: 'int32' } as const)).size, 4);
});
