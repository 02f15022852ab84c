import { arrow, badge, labelled, middle, picture, text } from './svg.mjs';

const blocks = ['1a', '1b', '2a', '2b', '…', '12b'];

export const svg = picture(
  {
    width: 680,
    height: 190,
    title: 'A mapped file goes to a GPU through pinned blocks',
    description:
      'Several threads copy parts of the mapped file into pinned blocks. Each thread has two: it fills one while the GPU reads the other.',
  },
  middle(90, 30, 'mapped file', 'strong'),
  labelled(20, 50, 140, 40, 'embed.weight', 'a', 'small mono'),
  labelled(20, 90, 140, 40, 'layer.0.bias', 'a', 'small mono'),
  middle(340, 30, 'pinned blocks, up to 96 MiB', 'strong'),
  blocks.map((name, i) => labelled(238 + i * 34, 70, 34, 40, name, i % 2 === 0 ? 'b' : 'off', 'small mono')),
  middle(590, 30, 'device', 'strong'),
  labelled(520, 50, 140, 40, 'embed.weight', 'c', 'small mono'),
  labelled(520, 90, 140, 40, 'layer.0.bias', 'c', 'small mono'),
  arrow(160, 90, 236, 90),
  middle(198, 82, 'copy', 'small'),
  arrow(442, 90, 518, 90),
  middle(480, 82, 'DMA', 'small'),
  badge(200, 126, 'thread 1 fills 1a', 'b'),
  middle(440, 143, 'while the device reads 1b', 'small dim'),
  text(20, 178, 'So the file, the memory and the GPU are busy at the same time.', 'small dim'),
);
