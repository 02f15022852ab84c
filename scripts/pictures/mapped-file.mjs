import { arrow, labelled, middle, picture, rect, text } from './svg.mjs';

const tensors = ['embed.weight', 'layer.0.weight', 'layer.0.bias'];

export const svg = picture(
  {
    width: 680,
    height: 300,
    title: 'A file is mapped, not read',
    description:
      'The header of a safetensors file is parsed. The bytes of its tensors become memory of the process: the system reads a page when the program first touches it. A tensor at a misaligned position is copied.',
  },
  text(20, 30, 'model.safetensors', 'strong'),
  labelled(20, 45, 200, 40, 'header', 'off', 'small'),
  tensors.map((name, i) => labelled(20, 85 + i * 40, 200, 40, name, 'a', 'small mono')),
  labelled(20, 205, 200, 40, 'odd.scale (misaligned)', 'b', 'small'),
  rect(390, 45, 270, 200, 'box'),
  text(390, 30, 'your process', 'strong'),
  middle(525, 70, 'names, dtypes, shapes', 'small'),
  arrow(220, 65, 420, 65),
  middle(320, 57, 'parsed', 'small dim'),
  tensors.map((_, i) => [
    labelled(440, 92 + i * 40, 170, 26, 'Tensor', 'c', 'small'),
    arrow(432, 105 + i * 40, 228, 105 + i * 40, 'good'),
  ]),
  middle(320, 97, 'the same pages', 'small good'),
  labelled(440, 212, 170, 26, 'Tensor, its own memory', 'b', 'small'),
  arrow(220, 225, 432, 225, 'warm'),
  middle(320, 217, 'copied', 'small warm'),
  text(
    20,
    278,
    'The system reads a page when your program first touches it, so opening takes a moment at any size.',
    'small dim',
  ),
);
