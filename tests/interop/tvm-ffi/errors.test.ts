/** Errors that cross the languages: kinds, stacks, and the same object on the way back. */

import {
  type FFIFunction,
  getGlobalFunc,
  Opaque,
  registerError,
  registerGlobalFunc,
  removeGlobalFunc,
  sameAs,
  TVMFFIError,
  toFunction,
} from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { collectUntil, testWith } from '../../harness.js';
import { caught, ffiMissing, kernelsMissing, probe, raises, testing } from './peer.js';

const throwing = (value: unknown) => () => {
  throw value;
};

testWith(kernelsMissing, 'a value that a callback throws comes back as the same value', () => {
  const apply = testing('apply');
  const frozen = Object.freeze(new Error('frozen'));
  const values = [
    new RangeError('too far'),
    new TVMFFIError('KeyError', 'by kind'),
    frozen,
    42,
    'text',
    null,
    { a: 1 },
  ];
  for (const value of values) ok(caught(() => apply(throwing(value))) === value, String(value));
  let isThrown = false;
  try {
    apply(throwing(undefined));
  } catch (error) {
    isThrown = error === undefined;
  }
  ok(isThrown, 'undefined');
  // Through two calls, and through a callback that does not catch it.
  const deep = new Error('deep');
  ok(caught(() => apply(() => apply(throwing(deep)))) === deep);
  throws('TypeError', 'Promise', () => apply(async () => 1));
});

testWith(kernelsMissing, 'native code gets the kind, the message and the causes', () => {
  const causesOf = (value: unknown) => probe('causes_of')(throwing(value));
  equal(causesOf(new RangeError('too far')), ['RangeError: too far']);
  equal(causesOf(new TVMFFIError('KeyError', 'by kind')), ['KeyError: by kind']);
  equal(causesOf(42), ['RuntimeError: 42']);
  const hostile = { toString: throwing(new Error('hostile')) };
  equal(causesOf(hostile), ['RuntimeError: a JavaScript function threw something that cannot be read']);
  const native = caught(() => testing('test_raise_error')('ValueError', 'native'));
  equal(causesOf(new Error('outer', { cause: native })), ['Error: outer', 'ValueError: native']);
});

testWith(kernelsMissing, 'stack traces and backtraces have the frames of both languages in order', () => {
  const innermost = () => {
    throw new Error('joined');
  };
  const backtrace = probe('backtrace_of')(innermost) as string;
  ok(/^ {2}File ".*errors\.test\.[jt]s", line \d+, in innermost/.test(backtrace), backtrace);
  // Not as a tail call, whose caller has no frame in some engines.
  const outermost = () => [testing('apply')(innermost)];
  const { stack = '' } = caught(outermost) as Error;
  const order = ['innermost', 'TestApply', 'outermost'].map((name) => stack.indexOf(name));
  ok(
    order.every((place, i) => place > (order[i - 1] ?? -1)),
    stack,
  );
  ok(!stack.includes('invokeWith'), stack);
  const error = raises('ValueError', 'asked', () => testing('test_raise_error')('ValueError', 'asked'));
  const at = ['TestRaiseError', 'errors.test.'].map((name) => error.stack?.indexOf(name) as number);
  ok((at[0] as number) > 0 && (at[1] as number) > (at[0] as number), error.stack);
  ok(error.backtrace.includes('TestRaiseError'), error.backtrace);
});

testWith(kernelsMissing, 'a native error stays the same object when JavaScript throws it again', () => {
  const fail = testing('test_raise_error');
  const first = caught(() => fail('ValueError', 'once')) as TVMFFIError;
  ok(caught(() => testing('apply')(throwing(first))) === first);
  ok(testing('echo')(first) === first && (testing('echo')([first]) as unknown[])[0] === first);
  equal(probe('causes_of')(throwing(first)), ['ValueError: once']);
  const passing = () => [fail('KeyError', 'passed')];
  const backtrace = probe('backtrace_of')(passing) as string;
  ok(backtrace.includes('TestRaiseError') && backtrace.includes('in passing'), backtrace);
});

testWith(kernelsMissing, 'errors as values', () => {
  const value = new RangeError('a value');
  ok(testing('echo')(value) === value);
  ok((testing('echo')(new Map([['k', value]])) as Map<string, unknown>).get('k') === value);
  ok(probe('error_of')(throwing(value)) === value);
});

testWith(kernelsMissing, 'a registered error kind', () => {
  class QuotaError extends Error {}
  class DailyQuotaError extends QuotaError {}
  registerError('QuotaError', QuotaError);
  equal(probe('causes_of')(throwing(new DailyQuotaError('spent'))), ['QuotaError: spent']);
  const error = caught(() => testing('test_raise_error')('QuotaError', 'of C++')) as Error;
  ok(error instanceof QuotaError && error.message === 'of C++' && error.stack?.includes('TestRaiseError'), error.stack);
  ok(caught(() => testing('apply')(throwing(error))) === error);
  throws('TypeError', 'a class derived from Error', () => registerError('X', Object as never));
  throws('TypeError', 'the name of a kind', () => registerError('', QuotaError));
});

testWith(ffiMissing, 'functions come back as themselves', () => {
  const echo = testing('echo');
  const plain = (x: number) => x + 1;
  ok(echo(plain) === plain && (echo([plain]) as unknown[])[0] === plain);
  ok(testing('apply')((f: unknown) => f === plain, plain) === true);
  const made = toFunction(plain);
  ok(echo(made) === made && toFunction(made as never) === made);
  const registered = registerGlobalFunc('dlpack.test.itself', plain);
  try {
    ok(getGlobalFunc('dlpack.test.itself') === registered && echo(registered) === registered);
    equal([registered(1), sameAs(registered, echo(registered))], [2, true]);
  } finally {
    removeGlobalFunc('dlpack.test.itself');
  }
  const again = getGlobalFunc('testing.echo');
  ok(again === echo && echo(again) === echo);
});

testWith(ffiMissing, 'opaque values are held by native code and come back as themselves', async () => {
  const echo = testing('echo');
  class User {}
  const user = new User();
  const key = Symbol('key');
  for (const value of [user, key, undefined, 5]) ok(echo(new Opaque(value)) === value);
  ok((echo([new Opaque(user)]) as unknown[])[0] === user);
  throws('TypeError', 'new Opaque(value)', () => echo(user));
  // Native code holds the value, and releases it with its last reference.
  const refs: WeakRef<object>[] = [];
  const keep = () => {
    const held = {};
    refs.push(new WeakRef(held));
    return toFunction(() => held);
  };
  let native: FFIFunction | null = keep();
  ok((await collectUntil(() => refs[0]?.deref() === undefined || native !== null)) && refs[0]?.deref() !== undefined);
  native = null;
  const thrown = () => {
    const error = new Error('held');
    refs.push(new WeakRef(error));
    caught(() => testing('apply')(throwing(error)));
  };
  thrown();
  ok(await collectUntil(() => refs.every((ref) => ref.deref() === undefined)), 'released');
});
