/** Libraries that ship a `dlpack.h` of their own may take a newer one before others do, so that each is read. */

import * as abi from 'dlpack/abi';
import { equal, ok } from '../../assert.js';
import { testWith } from '../../harness.js';
import { enumeratorsOf, installed } from '../../native/abi/headers.js';

const known = new Map<string, number>(Object.entries({ ...abi.DLDeviceType, ...abi.DLDataTypeCode }));

/** Where the wheel of each library has its header. */
const headers = { PyTorch: 'torch/include/ATen/dlpack.h', pyarrow: 'pyarrow/include/arrow/c/dlpack_abi.h' };

for (const [name, header] of Object.entries(headers)) {
  const path = installed(header);
  const missing = path === undefined ? `${header} in .venv` : false;

  testWith(missing, `every number of the dlpack.h of ${name} is known`, () => {
    const real = enumeratorsOf(path as string);
    // The header of an older version has fewer of them.
    ok(real.size >= 25, `${real.size} enumerators found`);
    for (const [enumerator, number] of real) equal(known.get(enumerator), number, enumerator);
  });
}
