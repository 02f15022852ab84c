import { type BaseDType, Tensor } from 'dlpack';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { missingPython, oracle } from './python.js';

testWith(missingPython, 'the body of a printed tensor is the text that NumPy prints', () => {
  const answer = oracle('printed');
  let count = 0;
  for (let name = answer.text(); name !== ''; name = answer.text()) {
    const axes = answer.text();
    const shape = axes === '' ? [] : axes.split(',').map(Number);
    const bytes = answer.bytes();
    const expected = answer.text();
    const tensor = Tensor.wrap(bytes.buffer, { dtype: name as BaseDType, shape });
    const [head, ...body] = tensor.toString().split('\n');
    equal(head, `Tensor ${name} [${shape.join(', ')}] cpu`);
    equal(body.join('\n'), expected, `${name} [${axes}]`);
    count++;
  }
  ok(count > 300, `${count} arrays`);
});
