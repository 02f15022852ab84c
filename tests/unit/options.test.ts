import { ArgumentTypeError, fromDLPack, Tensor } from 'dlpack';
import { equal, throws } from '../assert.js';
import { test } from '../harness.js';

const x = Tensor.from([1]);
const check = (options: object) => fromDLPack(x, options).dispose();

test('known options pass, whatever their values', () => {
  for (const options of [{}, { copy: undefined }, { device: 'cpu', copy: true, stream: null }, Object.create(null)])
    check(options);
  check(Object.create({ devise: 'inherited' })); // nobody wrote it here
  check({ [Symbol('devise')]: 1 });
});

test('an unknown option throws an error that names it and the nearest known one', () => {
  const error = throws('TypeError', '', () => check({ copy: true, devise: 'cuda:0' }));
  equal(
    error.message,
    "Expected device, copy or stream for options but received 'devise' (string); did you mean 'device'?",
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

test('a name that resembles none gets no guess', () => {
  for (const given of ['requireContiguous', 'constructor', '__proto__x', 'x'.repeat(1e6)]) {
    const { message } = throws('TypeError', 'Expected device, copy or stream for options', () => check({ [given]: 1 }));
    equal(message.includes('did you mean'), false);
  }
  const own = JSON.parse('{ "__proto__": 1 }') as object;
  throws('TypeError', "received '__proto__'", () => check(own));
});

test('options that are not an object', () => {
  for (const options of [[2, 3], 'float32', 1, true, () => 1]) {
    throws('TypeError', 'Expected an object such as { copy: true } for options', () => check(options as object));
  }
});
