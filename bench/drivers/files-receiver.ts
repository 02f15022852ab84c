/** The other side of bench/files.bench.ts, as a process or a worker: answers when it has the values of a message. */

import { isMainThread, parentPort } from 'node:worker_threads';
import { openTensor, type TensorDescription } from 'dlpack/shared';

type Message = { description: TensorDescription; isShown?: boolean } | { bytes: Uint8Array };

/** One value, so that the memory is really there. */
function receive(message: Message): number {
  if ('bytes' in message) return message.bytes[message.bytes.length - 1] as number;
  const tensor = openTensor(message.description, { dtype: 'uint8' });
  const value = message.isShown ? (tensor.data.at(-1) as number) : tensor.get(tensor.size - 1);
  tensor.dispose();
  return value;
}

if (isMainThread) process.on('message', (message) => process.send?.(receive(message as Message)));
else parentPort?.on('message', (message: Message) => parentPort?.postMessage(receive(message)));
