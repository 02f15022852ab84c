/** Only an asynchronous call is pending: the process ends with it, or at once if nothing awaits it. */

import { callAsync, python } from 'dlpack/python';

const py = python();
const { sleep } = py.import('time');
if (process.argv[2] === 'aborted') {
  const controller = new AbortController();
  const pending = callAsync.with({ signal: controller.signal })(sleep, 3600);
  pending.catch(() => console.log('stopped'));
  controller.abort();
} else {
  callAsync(sleep, 0.3).then(() => console.log('done'));
}
