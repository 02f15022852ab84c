/** Strings longer than the engine's longest; bytes where the engine refuses large arrays. Prints `ok` when all is typed. */

import { callAsync, PythonError, python } from 'dlpack/python';

const py = python();
const LENGTH = process.argv[2] === 'str' ? 2 ** 29 : 2 ** 22;
if (process.argv[2] === 'bytes') {
  // As Node 20 does above 4 GiB, without the memory.
  const Plain = Uint8Array;
  globalThis.Uint8Array = new Proxy(Plain, {
    construct(target, [length, ...rest]: [number]) {
      if (length >= LENGTH) throw new RangeError(`Invalid typed array length: ${length}`);
      return new target(length, ...(rest as []));
    },
  });
}
const literal = process.argv[2] === 'str' ? '"x"' : 'b"x"';
let received = 0;
const receive = (x: { length: number }): void => {
  received = x.length;
};
const make = py.eval(`lambda: ${literal} * ${LENGTH}`);
const give = py.eval(`lambda f: f(${literal} * ${LENGTH})`);
const ways: (() => unknown)[] = [
  () => receive(make()),
  async () => receive(await callAsync(make)),
  () => give(receive),
  () => callAsync(give, receive),
];
let good = 0;
for (const way of ways) {
  received = 0;
  try {
    await way();
    // An engine with longer strings has the whole string.
    if (received === LENGTH) good++;
    else console.log(`received ${received}`);
  } catch (error) {
    if (error instanceof PythonError && error.type === 'OverflowError' && error.message.includes('too long')) good++;
    else console.log(String(error));
  }
}

// The other arguments of a refused call do not stay in Python.
py.exec(`
import weakref
class Argument: pass
arguments = []
def give_both(f):
    argument = Argument()
    arguments.append(weakref.ref(argument))
    try: f(argument, ${literal} * ${LENGTH})
    except OverflowError: pass
`);
const giveBoth = py.eval('give_both');
const live = py.eval('lambda: sum(ref() is not None for ref in arguments)');
if (process.argv[2] === 'bytes') {
  giveBoth(receive);
  await callAsync(giveBoth, receive);
  for (let i = 0; i < 400 && live() !== 0; i++) await new Promise((next) => setTimeout(next, 50));
  if (live() !== 0) console.log(`${live()} arguments stay`);
}
if (good === ways.length) console.log('ok');
