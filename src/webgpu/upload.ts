/** Arrays of libraries that upload every array they make. */

interface Queue {
  writeBuffer(...args: unknown[]): void;
}

/** Calls `make`. Meanwhile the queue of the device ignores writes from the memory of `values`, and only those. */
export function withoutUpload<R>(gpuDevice: object, values: ArrayBufferView, make: () => R): R {
  const { queue } = gpuDevice as { queue: Queue };
  const { writeBuffer } = queue;
  // An assignment would throw if the queue cannot be changed. Then the library uploads the values, and the copy follows.
  Reflect.set(queue, 'writeBuffer', (...args: unknown[]) => {
    if ((args[2] as ArrayBufferView | undefined)?.buffer !== values.buffer) writeBuffer.apply(queue, args);
  });
  try {
    return make();
  } finally {
    Reflect.deleteProperty(queue, 'writeBuffer');
    if (queue.writeBuffer !== writeBuffer) Reflect.set(queue, 'writeBuffer', writeBuffer);
  }
}
