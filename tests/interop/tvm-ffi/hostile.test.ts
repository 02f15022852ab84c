import { equal } from '../../assert.js';
import { runChild } from '../../child.js';
import { testWith } from '../../harness.js';
import { kernelsMissing } from './peer.js';

testWith(kernelsMissing, 'no JavaScript has native code follow a pointer that leads nowhere', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/hostile.js');
  equal([code, signal], [0, null], output);
  const container = 'BufferError: Expected memory that native code may keep inside of a contai';
  equal(JSON.parse(output.trim().split('\n').at(-1) ?? ''), {
    'resize by a later argument': 'taken away',
    'resize by a callback': 'taken away',
    'detach by a later argument': 'taken away',
    'detach by a callback': 'taken away',
    'a view in a container': container,
    'a view of native memory in a container': container,
    rvalues: 'alive',
    'a forged object': 'TypeError: Expected an object that a native function returned for handl',
    'a getter while a function is registered': 'returned 42',
  });
});
