import { arrow, labelled, line, picture, text } from './svg.mjs';

const lane = (y, name) => [text(20, y + 22, name), line(184, y + 17, 670, y + 17)];
const diamond = (x, y, kind) =>
  `<polygon points="${x},${y - 11} ${x + 11},${y} ${x},${y + 11} ${x - 11},${y}" class="${kind}"/>`;

export const svg = picture(
  {
    width: 690,
    height: 240,
    title: 'fromDLPack orders two CUDA streams',
    description:
      'The producer records an event after its kernel. fromDLPack makes the stream of the consumer wait for that event, so its kernel starts after the data is there. The memory is freed after both. The CPU waits for neither.',
  },
  lane(30, "the producer's stream"),
  labelled(190, 30, 120, 34, 'kernel writes x', 'a', 'small'),
  diamond(330, 47, 'b'),
  text(322, 26, 'event', 'small'),
  lane(100, 'your stream'),
  diamond(390, 117, 'b'),
  text(404, 98, 'wait', 'small'),
  labelled(415, 100, 130, 34, 'kernel reads x', 'c', 'small'),
  arrow(333, 58, 386, 107, 'dashed'),
  lane(170, 'the memory of x'),
  labelled(190, 170, 355, 34, 'in use', 'off', 'small'),
  labelled(555, 170, 80, 34, 'free', 'ghost', 'small'),
  text(20, 228, 'The CPU waits for neither: fromDLPack only inserts the event and the wait.', 'small dim'),
);
