/** Python modules whose code is part of this package. */

import type { ImportModule, PyObject } from '../objects/py-object.js';

/** The module of this name. The first JavaScript thread of a process that asks for it runs the code. */
export function loadSource(importModule: ImportModule, name: string, source: string): PyObject {
  const made = importModule('types').ModuleType(name);
  importModule('builtins').exec(source, made.__dict__);
  return importModule('sys').modules.setdefault(name, made);
}
