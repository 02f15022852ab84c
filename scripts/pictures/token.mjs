import { arrow, badge, labelled, line, middle, picture, text } from './svg.mjs';

const main = 110;
const memory = 350;
const worker = 590;
const step = (y, x1, x2, label, kind = '') => [
  arrow(x1, y, x2, y, kind),
  middle((x1 + x2) / 2, y - 8, label, 'small mono'),
];

export const svg = picture(
  {
    width: 700,
    height: 400,
    title: 'A tensor goes to a worker without a copy',
    description:
      'The main thread makes a token, which holds nothing yet, and posts it. The message owns the memory, together with x. The worker opens it and owns the memory in its place. Both dispose their tensors, and the last one frees the memory. A message that nobody opens keeps the memory until you call token.revoke().',
  },
  labelled(main - 70, 20, 140, 34, 'main thread', 'a'),
  labelled(memory - 70, 20, 140, 34, 'the memory', 'c'),
  labelled(worker - 70, 20, 140, 34, 'worker', 'b'),
  line(main, 54, main, 366),
  line(memory, 54, memory, 366),
  line(worker, 54, worker, 366),
  step(90, main, memory, 'x = Tensor.from(…)'),
  badge(memory + 12, 78, '1 owner'),
  text(main + 14, 132, 'token = shareTensor(x)', 'small mono'),
  text(main + 14, 150, 'holds nothing yet', 'small dim'),
  arrow(main, 190, worker, 190),
  text(main + 14, 182, 'worker.postMessage(token)', 'small mono'),
  badge(memory + 12, 160, '2: x and the message'),
  step(240, worker, memory, 'y = openTensor(token)'),
  badge(memory - 165, 228, '2: x and the worker'),
  step(290, main, memory, 'x.dispose()'),
  badge(memory + 12, 278, '1 owner'),
  step(340, worker, memory, 'y.dispose()'),
  badge(memory - 90, 328, 'free', 'off'),
  text(20, 392, 'A message that nobody opens keeps the memory until you call token.revoke().', 'small dim'),
);
