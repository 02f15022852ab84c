/** A camera-like producer and two consumers: three processes over one memory, no frame copied. Linux. */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Tensor } from 'dlpack';
import { describeTensor, openTensor, type TensorDescription } from 'dlpack/shared';

/** Sent for every frame. */
interface Message {
  readonly description: TensorDescription;
}

function consume(pixel: number): void {
  let frame: Tensor | undefined;
  process.on('message', ({ description }: Message) => {
    frame ??= openTensor(description); // the producer's memory
    process.send?.(frame.get(pixel, 0, 0));
  });
}

async function produce(): Promise<void> {
  const frame = Tensor.empty([720, 1280, 3], 'uint8', { shareable: true });
  const description = describeTensor(frame);
  const script = fileURLToPath(import.meta.url);
  const consumers: ChildProcess[] = [0, 719].map((pixel) => fork(script, [String(pixel)]));
  for (let number = 1; number <= 3; number++) {
    frame.fill(number * 10); // the camera writes; the consumers wait
    const answers = consumers.map((consumer) => once(consumer, 'message'));
    for (const consumer of consumers) consumer.send({ description });
    console.log(`frame ${number}:`, (await Promise.all(answers)).map(([value]) => value).join(' '));
  }
  for (const consumer of consumers) consumer.kill();
  frame.dispose();
}

if (process.send === undefined) await produce();
else consume(Number(process.argv[2]));
