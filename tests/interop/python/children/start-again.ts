/** Starts Python again after a start that failed, and uses a JavaScript function there. */

import { python } from 'dlpack/python';

function start(): ReturnType<typeof python> | null {
  try {
    return python();
  } catch (error) {
    console.log((error as Error).message.includes('the first lines of Python code failed') ? 'failed' : error);
    return null;
  }
}

start();
const py = start();
function named(): number {
  return 7;
}
if (py !== null) console.log(String(py.eval('lambda f: f"{f.__name__} {f()} {f!r}"')(named)));
