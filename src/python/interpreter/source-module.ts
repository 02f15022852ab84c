/** Python modules whose code is part of this package. */

import type { ImportModule, PyObject } from '../objects/py-object.js';

/** The module of this name. The first JavaScript thread of a process that asks for it runs the code. */
export function loadSource(importModule: ImportModule, name: string, source: string): PyObject {
  const { modules } = importModule('sys');
  const known = modules.get(name);
  if (known !== null) return known;
  const made = importModule('types').ModuleType(name);
  importModule('builtins').exec(source, made.__dict__);
  return modules.setdefault(name, made); // another JavaScript thread may have been faster
}
