import { labelled, line, picture, rect, text } from './svg.mjs';

const left = 170;
const right = 640;
const lane = (y, name) => [text(20, y + 19, name), line(left, y + 14, right, y + 14)];
const ticks = (y, from, to) => {
  const all = [];
  for (let x = from; x < to; x += 22) all.push(rect(x, y + 4, 14, 20, 'a', 3));
  return all;
};

export const svg = picture(
  {
    width: 660,
    height: 350,
    title: 'A synchronous call blocks the event loop, callAsync does not',
    description:
      'During a synchronous call the JavaScript thread waits until Python returns. With callAsync a thread of the pool calls Python, the event loop goes on, and the GIL is free while the library computes.',
  },
  text(20, 30, 'model(x)', 'mono strong'),
  text(110, 30, 'no other request is answered until it returns', 'small dim'),
  lane(45, 'JavaScript thread'),
  ticks(45, left, left + 60),
  labelled(left + 66, 47, 300, 24, 'blocked', 'b', 'small strong'),
  ticks(45, left + 374, right),
  lane(83, 'GIL'),
  rect(left + 66, 87, 300, 20, 'c', 3),
  line(20, 130, 640, 130),
  text(20, 160, 'await py.callAsync(model, x)', 'mono strong'),
  text(265, 160, 'the event loop goes on', 'small dim'),
  lane(178, 'JavaScript thread'),
  ticks(178, left, right),
  lane(216, 'a thread of the pool'),
  labelled(left + 66, 218, 300, 24, 'model(x)', 'c', 'small strong'),
  lane(254, 'GIL'),
  rect(left + 66, 258, 44, 20, 'c', 3),
  rect(left + 322, 258, 44, 20, 'c', 3),
  text(left + 118, 294, 'free while the library computes', 'small dim'),
  rect(20, 316, 14, 14, 'a', 3),
  text(42, 328, 'the event loop runs your code', 'small'),
  rect(240, 316, 14, 14, 'c', 3),
  text(262, 328, 'Python runs', 'small'),
);
