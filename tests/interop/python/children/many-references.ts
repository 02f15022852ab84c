/**
 * Gets the values of many references from a module that stands in for Ray. The program disposes the references, or empties
 * its array, before they are here. Prints how many values arrived.
 */

import { type PyObject, python } from 'dlpack/python';
import { get, type ObjectRef } from 'dlpack/ray';

const py = python();
py.exec(`
import concurrent.futures, sys, types
class ObjectRef:
  def __init__(self, value): self.value = value
  def future(self):
    made = concurrent.futures.Future()
    made.set_result(self.value)
    return made
sys.modules['ray'] = types.ModuleType('ray')
sys.modules['ray'].__dict__.update(get=None, put=None, ObjectRef=ObjectRef)
`);
const { ObjectRef: Reference } = py.import('__main__');
const references = Array.from({ length: 3000 }, (_, i) => Reference(i) as PyObject as ObjectRef<number>);
const values = get(references);
if (process.argv[2] === 'dispose') for (const reference of references) reference[Symbol.dispose]();
else references.length = 0;
const found = await values;
console.log(found.filter((value, i) => value === i).length);
