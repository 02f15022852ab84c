import { arrow, labelled, middle, picture, rect, text } from './svg.mjs';

export const svg = picture(
  {
    width: 680,
    height: 330,
    title: 'Two processes share the pages of a tensor',
    description:
      'One process makes a tensor in shareable memory and sends its description, which is JSON, to another process on the same machine. openTensor maps the same pages there. Memory with a name is opened by its name, also by Python, and openForeign opens what Python made.',
  },
  rect(20, 20, 310, 130, 'box'),
  text(36, 44, 'the process that makes it', 'strong'),
  text(36, 72, 'Tensor.empty(…, { shareable: true })', 'mono small'),
  text(36, 100, 'describeTensor(x)', 'mono small'),
  rect(410, 20, 250, 130, 'box'),
  text(426, 44, 'another process', 'strong'),
  text(426, 100, 'openTensor(description)', 'mono small'),
  arrow(176, 96, 418, 96),
  middle(370, 88, 'JSON', 'small'),
  labelled(190, 190, 300, 44, 'the same pages', 'c', 'strong'),
  arrow(155, 150, 250, 188, 'good'),
  arrow(525, 150, 430, 188, 'good'),
  text(20, 268, 'With a name, the pages are /dev/shm/frame, and nothing has to be sent:', 'small dim'),
  text(20, 292, "Tensor.empty(…, { shareable: 'frame' })", 'mono small'),
  text(360, 292, "SharedMemory(name='frame')  in Python", 'mono small'),
  text(20, 314, "openForeign({ name: 'frame', … })", 'mono small'),
  text(360, 314, 'opens what Python made', 'small dim'),
);
