import { arrow, labelled, line, middle, picture, text } from './svg.mjs';

const producer = 110;
const consumer = 580;
const step = (y, x1, x2, label, kind = '', textKind = '') => [
  arrow(x1, y, x2, y, kind),
  middle((x1 + x2) / 2, y - 8, label, `small ${textKind}`),
];

export const svg = picture(
  {
    width: 700,
    height: 400,
    title: 'The protocol: who calls what',
    description:
      'The consumer asks the producer for a managed tensor. The producer returns it, and the consumer uses its memory and calls the deleter once. When the consumer finds an error, it calls the deleter all the same.',
  },
  labelled(producer - 80, 20, 160, 36, 'producer', 'a'),
  labelled(consumer - 80, 20, 160, 36, 'consumer', 'b'),
  line(producer, 56, producer, 380),
  line(consumer, 56, consumer, 380),
  step(95, consumer, producer, "x[Symbol.for('dlpack')]({ maxVersion, device, copy, stream })", '', 'mono'),
  step(145, producer, consumer, 'a managed tensor: version, flags, shape, strides, data, deleter'),
  labelled(consumer - 65, 165, 130, 60, ['reads and writes', 'the same memory'], 'c', 'small'),
  step(265, consumer, producer, 'deleter(), exactly once', 'good', 'good'),
  text(producer + 14, 288, 'the producer may free the memory now', 'small dim'),
  step(335, consumer, producer, 'on an error: deleter() all the same', 'bad dashed', 'bad'),
  text(producer + 14, 358, 'nothing leaks when a consumer refuses a tensor', 'small dim'),
);
